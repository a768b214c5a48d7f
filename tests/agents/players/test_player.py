"""A language model plays any seat of any game, with verified records, counted replies and context limits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, Schedule, play
from gymposium.match.ending import Ending
from gymposium.match.failures import FailurePolicy
from gymposium.players.distribution import MoveDistribution
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, Concurrent, MatchContext, Player
from gymposium.players.teaching import recommend_moves
from gymposium.records import RecordWriter, verify_file
from gymposium.records.trajectories import Trajectory
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import Completion, Sampling, TokenRequest, TurnTokens
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_agents.models.small import make_small_model
from gymposium_agents.players.distribution import split_probabilities
from gymposium_agents.players.player import LanguageModelPlayer, make_engine_player

GAMES = [
    "tic_tac_toe",
    "connect_four",
    "kuhn_poker",
    "leduc_poker",
    "goofspiel(num_cards=4)",
    "2048(max_tile=16)",
    "trace",
]


def lm(loaded: LoadedModel, temperature: float = 1.0, max_tokens: int = 4, **how: Any) -> LanguageModelPlayer:
    sampling = Sampling(temperature, max_tokens)
    return LanguageModelPlayer("lm:tiny", loaded.engine(), loaded.chat, sampling=sampling, **how)


@pytest.fixture(scope="module")
def player(tiny: LoadedModel) -> LanguageModelPlayer:
    return lm(tiny)


@pytest.mark.parametrize(
    ("name", "seat", "policy"),
    [
        pytest.param(name, seat, policy, marks=() if policy == "retry(2)" and seat == 0 else pytest.mark.slow)
        for name in GAMES
        for seat in range(load_game(name).seats)
        for policy in ("forfeit", "retry(2)", "random")
        if (name, policy) != ("trace", "random")  # no move of free text can be drawn
    ],
)
@pytest.mark.parametrize("context", ["state", "full"])
def test_plays_any_seat_and_the_record_verifies(
    tiny: LoadedModel, tmp_path: Path, name: str, seat: int, policy: str, context: str
) -> None:
    game, player, other = load_game(name), lm(tiny, context=context), make_player("random")
    players: list[Player] = [player if s == seat else other for s in range(game.seats)]
    file = tmp_path / "matches.jsonl"
    with RecordWriter(file) as writer:
        for played in play(
            MatchJob(f"m{i}", game, players, i, on_illegal=FailurePolicy.parse(policy)) for i in range(6)
        ):
            writer.write(played)
            mine = [turn for turn in played.turns if turn.seat == seat]
            assert all(isinstance(turn.trace, TurnTokens) for turn in mine)
            assert all(turn.trace is None for turn in played.turns if turn.seat != seat)
            assert all(player.chat.read(turn.trace.completion.ids) == turn.text for turn in mine)
            for turn in mine:
                assert turn.usage is not None
                assert turn.usage.prompt_tokens == len(turn.trace.prompt)
                assert turn.usage.completion_tokens == len(turn.trace.completion.ids)
                assert turn.usage.seconds > 0
    verification = verify_file(file)
    assert verification.matches == 6
    assert verification.problems == []


def test_equal_seeds_play_equal_matches_in_any_batch(player: LanguageModelPlayer) -> None:
    game, policy = load_game("tic_tac_toe"), FailurePolicy.parse("random")

    def turns(ids: range) -> dict[str, list[str]]:
        jobs = (MatchJob(f"m{i}", game, [player, player], i, on_illegal=policy) for i in ids)
        return {played.job.id: [turn.text for turn in played.turns] for played in play(jobs)}

    assert turns(range(3, 4)).items() <= turns(range(12)).items()


def test_turns_record_legal_continuations_on_request(tiny: LoadedModel) -> None:
    """Replies that the player has no room for are not among them, and free text has none."""
    game = load_game("tic_tac_toe")
    replies = {move: tiny.chat.reply(move) for move in game.new(0).legal_moves(0) or ()}
    assert {len(reply) for reply in replies.values()} == {2}  # a move is one token, and its end another
    for max_tokens, firsts in ((2, tuple(sorted(first for first, _ in replies.values()))), (1, ())):
        noting = lm(tiny, max_tokens=max_tokens, note_legal=True)
        for played in play(MatchJob(f"m{i}", game, [noting, noting], i) for i in range(6)):
            turn, ids = played.turns[0].trace, played.turns[0].trace.completion.ids
            assert len(turn.legal) == len(ids)
            assert turn.legal[0] == firsts
            assert turn.legal[1:] in ((), ((tiny.chat.end,) if ids[0] in firsts else (),))
    (played,) = play([MatchJob("m", game, [lm(tiny)] * 2, 0)])
    assert played.turns[0].trace.legal == ()
    text = load_game("trace(difficulty=1,prints=0)")
    turns = [t for played in play(MatchJob(f"m{i}", text, [noting], i) for i in range(6)) for t in played.turns]
    assert turns  # others have no room beside their prompt
    assert all(turn.trace.legal == () for turn in turns)


def test_teachers_probabilities_are_noted_at_each_token_of_a_legal_reply(tiny: LoadedModel) -> None:
    """A token that leads to no recommended move has none after it."""
    game = load_game("tic_tac_toe")
    legal = game.new(0).legal_moves(0) or []
    taught = dict(zip(legal, (0.25, 0.75, *[0.0] * 7), strict=True))
    replies = {tiny.chat.reply(move): odds for move, odds in taught.items()}

    def recommend(asks: Sequence[Ask]) -> list[MoveDistribution]:
        return [
            recommend_moves(ask.legal_moves or [], [taught[move] for move in ask.legal_moves or []]) for ask in asks
        ]

    player = make_engine_player(
        "lm",
        TransformersEngine(tiny.model, stops=tiny.stops, pad=tiny.pad),
        tiny.chat,
        PlayerSettings(max_tokens=16, temperature=1.0, reply="move"),
        teacher=recommend,
    )
    firsts = [played.turns[0].trace for played in play(MatchJob(f"m{i}", game, [player] * 2, i) for i in range(60))]
    for trace in firsts:
        assert list(map(len, trace.taught)) == list(map(len, trace.legal))
        assert trace.taught == split_probabilities(replies, trace.completion.ids)
        assert math.fsum(trace.taught[0]) == pytest.approx(1.0)
        assert trace.agrees == (trace.completion.ids == tiny.chat.reply(legal[1]))


class Recording(TransformersEngine):
    """An engine that notes its requests."""

    asked: list[TokenRequest]

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        self.asked += requests
        return super().generate(requests, sampling)


def test_requests_name_their_match_and_seat(tiny: LoadedModel) -> None:
    engine = Recording(tiny.model, stops=tiny.stops, pad=tiny.pad)
    engine.asked = []
    player = LanguageModelPlayer("lm:tiny", engine, tiny.chat, sampling=Sampling(1.0, 4))
    game = load_game("goofspiel(num_cards=4)")
    jobs = [MatchJob(f"m{n}", game, [player, player], n, on_illegal=FailurePolicy.parse("random")) for n in range(2)]
    turns = [turn for played in play(jobs) for turn in played.turns]
    named = Counter(request.conversation for request in engine.asked)
    assert set(named) == {"m0/0", "m0/1", "m1/0", "m1/1"}
    assert named.total() == len(turns)


@pytest.fixture(scope="module")
def short(game_texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    """A model with a context of 100 tokens."""
    directory = tmp_path_factory.mktemp("models") / "short"
    size = SmallModel(hidden=32, layers=2, heads=2, feed_forward=64, vocabulary=320, context=100)
    make_small_model(directory, game_texts, seed=1, size=size)
    return load_model(directory)


def recording(loaded: LoadedModel) -> Recording:
    engine = Recording(loaded.model, stops=loaded.chat.stops, pad=loaded.pad)
    engine.asked = []
    return engine


def test_prompts_that_fill_the_context_are_not_sent(short: LoadedModel) -> None:
    """The rules alone are too long for the model: the match ends for that reason, without a request."""
    engine = recording(short)
    player = LanguageModelPlayer("lm:short", engine, short.chat, sampling=Sampling(1.0, 4), style="full")
    (played,) = play([MatchJob("m", load_game("tic_tac_toe"), [player, make_player("random")], 0)])
    assert engine.asked == []
    assert played.turns == []
    assert played.ending == Ending("out of context", 0)
    (remark,) = player.remarks()
    assert "1 of its matches ended out of context" in remark
    assert "context=" in remark, "what to do"


def test_growing_conversation_ends_match_at_context_limit(short: LoadedModel) -> None:
    engine, policy = recording(short), FailurePolicy.parse("random")
    player = LanguageModelPlayer("lm:short", engine, short.chat, sampling=Sampling(1.0, 20), context="full")
    players = [player, make_player("random")]
    jobs = [MatchJob(f"m{i}", load_game("tic_tac_toe"), players, i, on_illegal=policy) for i in range(12)]
    full = [played for played in play(jobs) if played.ending.failures]
    assert full
    for played in full:
        assert played.ending == Ending("out of context", 0)
        assert played.turns[0].seat == 0, "it had played before"
        mine, other = Trajectory.from_match(played, 0), Trajectory.from_match(played, 1)
        assert mine.truncated
        before = mine.turns[-1].trace
        assert mine.unanswered[: len(before.prompt)] == before.prompt, "the conversation, one ask further"
        assert len(mine.unanswered) >= 100
        assert (other.truncated, other.unanswered) == (False, None)
    assert all(len(request.prompt) < 100 for request in engine.asked)


def test_replies_may_fill_the_context(short: LoadedModel) -> None:
    """A reply may use the model's context to the last token."""
    player = lm(short, max_tokens=200)
    (played,) = play([MatchJob("m", load_game("kuhn_poker"), [player, make_player("random")], 0)])
    trace = played.turns[0].trace
    assert len(trace.prompt) + len(trace.completion.ids) <= 100
    assert trace.completion.finish_reason == "stop" or len(trace.prompt) + len(trace.completion.ids) == 100


def test_only_concurrent_engines_make_concurrent_players(tiny: LoadedModel) -> None:
    settings = PlayerSettings(temperature=0.5, max_tokens=9, context="last-2", reply="json", style="full")
    plain = make_engine_player("lm:x", tiny.engine(), tiny.chat, settings)
    served = make_engine_player("lm:x", ThreadedEngine(tiny), tiny.chat, settings)
    assert not isinstance(plain, Concurrent)
    assert isinstance(served, Concurrent)
    for player in (plain, served):
        assert player.sampling == Sampling(0.5, 9)
        assert (player.context.name, player.reader.name, player.style) == ("last-2", "json", "full")


class ThreadedEngine:
    """The in-process engine in a thread, as a server behind its client."""

    def __init__(self, loaded: LoadedModel) -> None:
        self.engine = loaded.engine()
        self.policy, self.context, self.score = self.engine.policy, self.engine.context, self.engine.score
        self.generate = self.engine.generate
        self.thread = ThreadPoolExecutor(1)
        self.error: Exception | None = None

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        return self.thread.submit(self._one, request, sampling)

    def _one(self, request: TokenRequest, sampling: Sampling) -> Completion:
        if self.error is not None:
            raise self.error
        (completion,) = self.engine.generate([request], sampling)
        return completion


@pytest.mark.parametrize("context", ["state", "full"])
def test_streaming_plays_the_same_matches_as_rounds(tiny: LoadedModel, context: str) -> None:
    game, policy = load_game("goofspiel(num_cards=4)"), FailurePolicy.parse("random")
    settings = PlayerSettings("compact", "move", 5, context, temperature=1.0)

    def events(schedule: Schedule, player: LanguageModelPlayer) -> dict[str, Any]:
        jobs = (MatchJob(f"m{i}", game, [player, make_player("random")], i, on_illegal=policy) for i in range(8))
        return {p.job.id: ([turn.text for turn in p.turns], p.events) for p in play(jobs, schedule=schedule)}

    plain, served = (
        make_engine_player("lm:x", tiny.engine(), tiny.chat, settings),
        make_engine_player("lm:x", ThreadedEngine(tiny), tiny.chat, settings),
    )
    assert events("rounds", plain) == events("streaming", served) == events("streaming", plain)


def test_streaming_also_reports_out_of_context(short: LoadedModel) -> None:
    player = make_engine_player("lm:x", ThreadedEngine(short), short.chat, PlayerSettings("full"))
    jobs = [MatchJob(f"m{i}", load_game("tic_tac_toe"), [player, make_player("random")], i) for i in range(3)]
    assert [played.ending for played in play(jobs, schedule="streaming")] == [Ending("out of context", 0)] * 3
    assert "3 of its matches ended out of context" in player.remarks()[0]


def test_engine_errors_propagate(tiny: LoadedModel) -> None:
    pool = ThreadedEngine(tiny)
    pool.error = GymposiumError("The server is gone. Start it again.")
    player = make_engine_player("lm:x", pool, tiny.chat, PlayerSettings("compact", "move", 16))
    job = MatchJob("m", load_game("tic_tac_toe"), [player, make_player("random")], 0)
    with pytest.raises(GymposiumError, match="Start it again"):
        list(play([job], schedule="streaming"))


def test_abandoned_replies_are_cancelled(tiny: LoadedModel) -> None:
    """Its request is cancelled where it has not begun, and an answer that comes too late hurts nobody."""
    pool, free = ThreadedEngine(tiny), Event()
    player = make_engine_player("lm:x", pool, tiny.chat, PlayerSettings("compact", "move", 16))
    assert isinstance(player, Concurrent)
    asks = [MatchContext(load_game("tic_tac_toe").new(i), f"m{i}", i).ask(0) for i in range(3)]
    holding = pool.thread.submit(free.wait)
    first, second, third = (player.submit(ask) for ask in asks)
    assert second.cancel()
    free.set()
    assert holding.result()
    assert first.result().usage is not None
    assert third.result().text is not None
    assert asks[1].memory == {}
