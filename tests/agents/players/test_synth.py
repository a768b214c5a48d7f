"""Imitation data matches exactly what a language model reads when it plays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import BadOption
from gymposium.games.protocol import Style
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.distribution import MoveDistribution
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.players.random import RandomPlayer
from gymposium.players.teaching import CachedTeacher
from gymposium.records import Keep, MatchSeat, Record, explain_rejection, recommend_in_records
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.context import parse_context
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.tokens import BASE, Completion, Policy, Sampling, TokenRequest
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_agents.players.synth import (
    SynthData,
    SynthSelection,
    choose_per,
    list_decisions,
    make_lines,
)

GAMES = ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)", "phantom_ttt", "pig(winscore=10)", "2048"]
CONTEXTS = ["full", "truncated", "last-1", "last-3", "state"]


def play_records(name: str, player: Player, matches: int, opponent: Player | None = None) -> list[Record]:
    game = load_game(name)
    seats = [player, *[opponent or player] * (game.seats - 1)]
    return [Record.from_match(one) for one in play(MatchJob(f"m-{i}", game, seats, i) for i in range(matches))]


class MessageRecorder:
    """A random player that notes the messages that a model would have read at each of its decisions."""

    name, reader, style = "random", RandomPlayer.reader, RandomPlayer.style

    def __init__(self, style: Style, reply: str) -> None:
        self.as_if = style, get_reader(reply)
        self.asked: dict[tuple[str, int], list[str]] = {}

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        style, how = self.as_if
        for ask in asks:
            text = get_prompt(ask.game, style, how)(ask.observe(style))
            self.asked.setdefault((ask.key, ask.seat), []).append(text)
        return RandomPlayer().act(asks)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize(("style", "reply"), [("full", "tags"), ("compact", "json")])
def test_prompts_match_those_of_the_match(name: str, style: Style, reply: str) -> None:
    author = MessageRecorder(style, reply)
    records = play_records(name, author, 5)
    settings = PlayerSettings(style, reply)
    for record in records:
        for seat in range(len(record.players)):
            found = [exchange for exchange, _ in list_decisions(record, seat, settings)]
            assert [exchange.first for exchange in found] == author.asked.get((record.id, seat), [])
            mine = [event.move for event in record.events if event.seat == seat]
            assert [exchange.reply for exchange in found] == [get_reader(reply).answer(move) for move in mine]


class PrescribedEngine:
    """A token engine that gives prescribed replies."""

    policy: Policy = BASE
    context = 1_000_000

    def __init__(self, chat: Chat) -> None:
        self.chat, self.next = chat, list[str]()

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        assert len(self.next) == len(requests)
        ids = [self.chat.reply(text) for text in self.next]
        return [Completion(one, (0.0,) * len(one), "stop", BASE) for one in ids]

    def score(self, pairs: Any, *, temperature: float = 1.0, policy: Policy | None = None) -> list[tuple[float, ...]]:
        raise NotImplementedError


class ThoughtfulPlayer(LanguageModelPlayer):
    """A language-model player whose every reply is legal, with a thought if the form allows one."""

    engine: PrescribedEngine

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        self.engine.next = []
        for ask in asks:
            legal = ask.legal_moves
            assert legal is not None
            move = self.reader.answer(legal[int(ask.rng.random() * len(legal))])
            thought = f"<think>of {len(legal)} I like\nthis</think>" if self.reader.name == "tags" else ""
            self.engine.next.append(thought + move)
        return super().act(asks)


def make_thoughtful_player(tokenizer: Any, how: str, style: Style, reply: str) -> ThoughtfulPlayer:
    chat = Chat(tokenizer)
    return ThoughtfulPlayer(
        "lm:M", PrescribedEngine(chat), chat, sampling=Sampling(), style=style, reply=reply, context=how
    )


@pytest.mark.parametrize("family", ["qwen2.5", "qwen3", "llama3", "gemma"])
@pytest.mark.parametrize("how", CONTEXTS)
@pytest.mark.parametrize(("style", "reply"), [("full", "tags"), ("compact", "move")])
def test_rendered_samples_match_the_prompt(
    family_tokenizer: Any, family: str, how: str, style: Style, reply: str
) -> None:
    tokenizer = family_tokenizer(family)
    player = make_thoughtful_player(tokenizer, how, style, reply)
    settings = PlayerSettings(style, reply, context=how)
    game, compared = load_game("tic_tac_toe"), 0
    for one in play(MatchJob(f"m-{i}", game, [player, make_player("random")], i) for i in range(4)):
        record = Record.from_match(one)
        turns = [turn for turn in one.turns if turn.seat == 0]
        for turn, line in zip(turns, make_lines(record, 0, settings, "turn"), strict=True):
            template = {"add_generation_prompt": True, **line["chat_template_kwargs"]}
            text = tokenizer.apply_chat_template(line["prompt"], tokenize=False, **template)
            assert text == tokenizer.decode(turn.trace.prompt)
            if (family, reply) != ("qwen3", "tags"):  # the prompt contains <think>, which is a token there
                ids = tokenizer.apply_chat_template(line["prompt"], tokenize=True, return_dict=False, **template)
                assert ids == list(turn.trace.prompt)
            assert line["completion"] == [{"role": "assistant", "content": turn.text}]
            compared += 1
        if parse_context(how).grows:
            [line] = make_lines(record, 0, settings, "match")
            ends = [i for i, message in enumerate(line["messages"]) if message["role"] == "assistant"]
            turn_lines = make_lines(record, 0, settings, "turn")
            for end, of_turn in zip(ends, turn_lines, strict=True):
                assert line["messages"][: end + 1] == [*of_turn["prompt"], *of_turn["completion"]]
    assert compared > 8


def test_only_replies_in_the_same_form_are_quoted(family_tokenizer: Any) -> None:
    player = make_thoughtful_player(family_tokenizer("qwen2.5"), "state", "full", "tags")
    [record] = play_records("tic_tac_toe", player, 1, RandomPlayer())
    mine, theirs = (
        [exchange for exchange, _ in list_decisions(record, seat, PlayerSettings("full", "tags"))] for seat in (0, 1)
    )
    assert all(exchange.reply.startswith("<think>of ") for exchange in mine if exchange.reply)
    assert all(exchange.reply.startswith("<move>") for exchange in theirs if exchange.reply)
    moves = [event.move for event in record.events if event.seat == 0]
    assert [exchange.reply for exchange, _ in list_decisions(record, 0, PlayerSettings("full", "move"))] == moves


class ClumsyPlayer:
    """A random player with some unparsable replies."""

    name, reader, style = "clumsy", RandomPlayer.reader, RandomPlayer.style

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies = RandomPlayer().act(asks)
        return [Reply("well") if ask.rng.random() < 0.1 else reply for ask, reply in zip(asks, replies, strict=True)]


@pytest.mark.parametrize("policy", ["forfeit", "retry(2)", "random"])
def test_kept_data_is_clean_and_rejections_counted(policy: str) -> None:
    game, on_illegal = load_game("tic_tac_toe"), FailurePolicy.parse(policy)
    seats: list[Player] = [ClumsyPlayer(), RandomPlayer()]
    records = [
        Record.from_match(p) for p in play(MatchJob(f"m-{i}", game, seats, i, None, on_illegal) for i in range(60))
    ]
    wanted = SynthSelection(settings=PlayerSettings(), keep=Keep.parse("win"), per="turn")
    counts = SynthData(wanted)
    found = [line for record in records for line in counts.add(record)]
    assert counts.matches == 60
    assert counts.kept + counts.left_out.total() == 120
    assert counts.lines == len(found)
    assert counts.left_out["a reply failed"] == sum(any(t["reading"] != "move" for t in r.turns) for r in records) > 0
    assert counts.left_out["an opponent forfeited"] == sum(r.ending.seat is not None for r in records)
    assert {line["gymposium"]["result"] for line in found} == {"win"}
    kept = {(line["gymposium"]["match"], line["gymposium"]["seat"]) for line in found}
    assert len(kept) == counts.kept
    for record in records:
        for seat in (0, 1):
            assert ((record.id, seat) in kept) == (explain_rejection(record, seat, wanted.keep) is None)


def test_filters_by_seat_player_limit_and_duplicates() -> None:
    records = play_records("tic_tac_toe", make_player("mcts-2"), 20, RandomPlayer())

    def found(**wanted: Any) -> tuple[list[dict[str, Any]], SynthData]:
        settled: dict[str, Any] = {"settings": PlayerSettings(), "keep": Keep(), "per": "turn"} | wanted
        counts = SynthData(SynthSelection(**settled))
        return [line for record in records for line in counts.add(record)], counts

    everything, counts = found()
    assert counts.kept == 40
    assert {line["gymposium"]["seat"] for line in found(seats=(1,))[0]} == {1}
    assert found(by="mcts-2")[0] == found(seats=(0,))[0]
    some, counts = found(limit=7)
    assert some == everything[:7]
    assert 0 < counts.matches < 20
    unlike, counts = found(dedupe=True)
    chats = [json.dumps([line["prompt"], line["completion"]]) for line in unlike]
    assert len(set(chats)) == len(chats)
    assert set(chats) == {json.dumps([line["prompt"], line["completion"]]) for line in everything}
    assert counts.duplicates == len(everything) - len(unlike) > 0


def test_single_player_games_are_kept_by_return() -> None:
    records = play_records("2048", RandomPlayer(), 8)
    returns = sorted(record.returns[0] for record in records)
    keep = Keep.parse(f"return>={returns[5]}")
    assert sum(explain_rejection(record, 0, keep) is None for record in records) == 3
    with pytest.raises(BadOption, match=r"from 0 to 1: --keep 'return>=X'"):
        Keep.parse("win").check(load_game("mail"))


@given(
    st.sampled_from(["win", "draw", "loss", "draw, win", "all"]),
    st.sampled_from(["win", "draw", "loss"]),
    st.floats(-2, 2),
)
def test_keep_by_result(text: str, result: str, reward: float) -> None:
    assert Keep.parse(text)(result, reward) == (text == "all" or result in text)


@given(least=st.floats(-100, 100), reward=st.floats(-100, 100))
def test_keep_by_return(least: float, reward: float) -> None:
    assert Keep.parse(f"return>={least!r}")("loss", reward) == (reward >= least)


@pytest.mark.parametrize("text", ["", "wins", "win,all", "return>=", "return>=x", "return>=nan", "return<1"])
def test_invalid_outcomes_are_refused(text: str) -> None:
    with pytest.raises(BadOption, match="return>=X"):
        Keep.parse(text)


def recommend(
    teacher: Player, records: list[Record], wanted: SynthSelection
) -> dict[MatchSeat, list[MoveDistribution]]:
    seats = [seat for record in records for seat in wanted.list_kept_seats(record)]
    return recommend_in_records(CachedTeacher(teacher), records, seats)


@pytest.mark.parametrize("context", ["state", "full"])
@pytest.mark.parametrize(("name", "teacher"), [("tic_tac_toe", "mcts-20"), ("leduc_poker", "mcts-20")])
def test_teachers_reply_in_the_states_of_the_records(name: str, teacher: str, context: str) -> None:
    records, settings = play_records(name, RandomPlayer(), 4), PlayerSettings("full", "tags", context=context)
    wanted = SynthSelection(settings=settings, keep=Keep.parse("win"), per="turn", teacher=teacher)
    recommended = recommend(make_player(teacher), records, wanted)
    data = SynthData(wanted)
    found = [line for record in records for line in data.add(record, recommended)]
    recorded = SynthData(replace(wanted, teacher=None))
    others = [line for record in records for line in recorded.add(record)]
    labels = [label for seat in recommended.values() for label in seat]
    assert [line["prompt"] for line in found] == [line["prompt"] for line in others]
    assert found != others
    for line, other, label in zip(found, others, labels, strict=True):
        about = line["gymposium"]
        assert about == {**other["gymposium"], "teacher": teacher, "taught": label.probabilities}
        [reply] = line["completion"]
        move = reply["content"].removeprefix("<move>").removesuffix("</move>")
        assert about["taught"][about["legal"].index(move)] > 0
    assert [line for record in records for line in SynthData(wanted).add(record, recommended)] == found


def test_replies_are_drawn_from_the_recommendations() -> None:
    records = play_records("kuhn_poker", RandomPlayer(), 200)
    wanted = SynthSelection(settings=PlayerSettings(reply="move"), keep=Keep(), per="turn", teacher="random")
    data = SynthData(wanted)
    recommended = recommend(RandomPlayer(), records, wanted)
    replies = [line["completion"][0]["content"] for one in records for line in data.add(one, recommended)]
    assert replies.count("bet") / len(replies) == pytest.approx(0.5, abs=0.1)


def test_turns_without_a_recommendation_are_left_out() -> None:
    class OnlyCenter(RandomPlayer):
        """Replies b2, whether or not it is legal."""

        name = "center"

        def act(self, asks: Sequence[Ask]) -> list[Reply]:
            return [Reply("b2") for _ in asks]

        distributions = None  # type: ignore[assignment]

    records = play_records("tic_tac_toe", RandomPlayer(), 10)
    wanted = SynthSelection(settings=PlayerSettings(reply="move"), keep=Keep(), per="turn", teacher="center")
    data = SynthData(wanted)
    recommended = recommend(OnlyCenter(), records, wanted)
    found = [line for record in records for line in data.add(record, recommended)]
    assert {line["completion"][0]["content"] for line in found} == {"b2"}
    assert data.lines == len(found)
    assert data.lines + data.untaught == sum(len(record.turns) for record in records)
    assert 0 < data.counts()["untaught"] < data.lines


def test_lines_of_teachers_are_single_turns() -> None:
    assert choose_per(PlayerSettings(context="full"), None, taught=True) == "turn"
    with pytest.raises(BadOption, match="conflicts with --teacher"):
        choose_per(PlayerSettings(context="full"), "match", taught=True)


def test_whole_match_lines_require_a_growing_context() -> None:
    assert choose_per(PlayerSettings(context="full"), None) == "match"
    assert choose_per(PlayerSettings(context="full"), "turn") == "turn"
    assert choose_per(PlayerSettings(context="truncated"), None) == "turn"
    with pytest.raises(BadOption, match="--context full"):
        choose_per(PlayerSettings(context="last-2"), "match")
    with pytest.raises(BadOption, match="match or turn"):
        choose_per(PlayerSettings(), "seat")
