"""Each prompt holds the history of its own match and seat, however matches are mixed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from gymposium.games.registry import load_game
from gymposium.match import MatchJob, MatchResult, Schedule, Turn, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Concurrent
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import read_reply
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.context import Exchange
from gymposium_agents.chat.tokens import BASE, Completion, Policy, Sampling, TokenRequest, TurnTokens
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.players.player import ConcurrentLanguageModelPlayer, LanguageModelPlayer

GAMES = ["tic_tac_toe", "kuhn_poker", "goofspiel(num_cards=4)", "leduc_poker"]
CONTEXTS = ["full", "truncated", "last-1", "last-3", "state"]


def turns_in_order(played: MatchResult) -> Iterator[tuple[Turn, list[Exchange], Exchange]]:
    """Each turn of a match with what its seat was told and said before, and what it is told now: all from the record,
    by playing the match again."""
    job = played.job
    match, turns = job.game.new(job.seed), list(played.turns)
    made = {seat: [event.move for event in played.events if event.seat == seat] for seat in range(job.game.seats)}
    past: dict[int, list[Exchange]] = {seat: [] for seat in range(job.game.seats)}
    while seats := match.to_move():
        asking: list[tuple[int, str | None]] = [(seat, None) for seat in seats]
        while asking:
            again = []
            for seat, reason in asking:
                if not turns or turns[0].seat != seat:
                    continue  # the match ended here
                turn, player = turns.pop(0), job.players[seat]
                prompt, seen = get_prompt(job.game, player.style, player.reader), match.observe(seat, player.style)
                now = Exchange(prompt(seen, reason), prompt(seen, reason, rules=False))
                yield turn, list(past[seat]), now
                past[seat].append(Exchange(now.first, now.later, turn.text))
                if turn.reading != "move" and job.on_illegal.kind == "retry":
                    cut_off = turn.reading == "cut off"
                    legal = match.legal_moves(seat)
                    how = read_reply(turn.text, legal, player.reader, job.game.move_pattern, cut_off=cut_off)
                    again.append((seat, how.reason(legal)))
            asking = again
        if not turns:
            return
        match.apply({seat: made[seat].pop(0) for seat in seats})


def check_prompts(played: MatchResult, chat: Chat) -> int:
    """Checks that every prompt of a match is its seat's conversation, and returns the number of prompts."""
    count = 0
    for turn, past, now in turns_in_order(played):
        player = played.job.players[turn.seat]
        if not isinstance(player, LanguageModelPlayer):
            continue
        expected = chat.conversation(player.context.messages(past, now))
        prompt = turn.trace.prompt
        assert chat.tokenizer.decode(list(prompt)) == chat.tokenizer.decode(list(expected))
        if not player.context.grows:
            assert prompt == expected
        count += 1
    return count


def lm(tiny: LoadedModel, name: str, max_tokens: int) -> LanguageModelPlayer:
    return LanguageModelPlayer(f"lm:{name}", tiny.engine(), tiny.chat, sampling=Sampling(1.0, max_tokens), context=name)


@settings(max_examples=15)
@given(
    names=st.lists(st.sampled_from(GAMES), min_size=2, max_size=3),
    contexts=st.lists(st.sampled_from(CONTEXTS), min_size=2, max_size=2),
    policy=st.sampled_from(["random", "retry(2)"]),
    schedule=st.sampled_from(["rounds", "streaming"]),
    max_tokens=st.integers(1, 12),
    at_once=st.integers(1, 20),
    seed=st.integers(0, 10**6),
)
def test_conversations_are_never_mixed(
    tiny: LoadedModel,
    names: list[str],
    contexts: list[str],
    policy: str,
    schedule: Schedule,
    max_tokens: int,
    at_once: int,
    seed: int,
) -> None:
    first, second = (lm(tiny, name, max_tokens) for name in contexts)
    jobs = [
        MatchJob(
            f"m{i}",
            load_game(names[i % len(names)]),
            [first, second] if i % 2 else [second, first],
            seed + i,
            on_illegal=FailurePolicy.parse(policy),
        )
        for i in range(12)
    ]
    finished = list(play(jobs, at_once=at_once, schedule=schedule))
    assert len(finished) == len(jobs)
    for played in finished:
        assert check_prompts(played, tiny.chat) == len(played.turns) > 0


def test_growing_history_never_retokenizes_samples(tiny: LoadedModel) -> None:
    player, policy = lm(tiny, "full", 12), FailurePolicy.parse("random")
    jobs = [MatchJob(f"m{i}", load_game("tic_tac_toe"), [player, player], i, on_illegal=policy) for i in range(30)]
    ends = set()
    for played in play(jobs):
        for seat in (0, 1):
            traces: list[TurnTokens] = [turn.trace for turn in played.turns if turn.seat == seat]
            for before, after in pairwise(traces):
                sampled = (*before.prompt, *before.completion.ids)
                assert after.prompt[: len(sampled)] == sampled
                closed = after.prompt[len(before.prompt) :].index(tiny.chat.end)
                ended = before.completion.finish_reason == "stop"
                assert closed == len(before.completion.ids) - ended, "each reply is closed exactly once"
                ends.add(before.completion.finish_reason)
    assert ends == {"stop", "length"}


class ThinkingEngine:
    """An engine that writes a new secret into its thoughts each time, and plays the first legal move in the prompt."""

    policy, context = BASE, 100_000

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.secrets: list[str] = []

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        return [self.answer(request) for request in requests]

    def answer(self, request: TokenRequest) -> Completion:
        secret = f"secret-{request.rng.getrandbits(64)}"
        self.secrets.append(secret)
        moves = re.findall(r"Legal moves: ([^,\n]+)", self.chat.tokenizer.decode(list(request.prompt)))
        ids = self.chat.reply(f"<think>{secret}</think><move>{moves[-1]}</move>")
        return Completion(ids, (0.0,) * len(ids), "stop", request.policy or BASE)

    def score(
        self,
        pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
        *,
        temperature: float = 1.0,
        policy: Policy | None = None,
    ) -> list[tuple[float, ...]]:
        return [(0.0,) * len(completion) for _, completion in pairs]


class ConcurrentThinkingEngine(ThinkingEngine):
    """The same engine, which answers from four threads in any order."""

    def __init__(self, chat: Chat) -> None:
        super().__init__(chat)
        self._threads = ThreadPoolExecutor(4)

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        return self._threads.submit(self.answer, request)


@pytest.mark.parametrize("name", ["full", "last-2"])
@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
@pytest.mark.parametrize("concurrent", [False, True])
def test_thoughts_stay_private(tiny: LoadedModel, name: str, schedule: Schedule, *, concurrent: bool) -> None:
    engines = [(ConcurrentThinkingEngine if concurrent else ThinkingEngine)(tiny.chat) for _ in range(2)]
    kind = ConcurrentLanguageModelPlayer if concurrent else LanguageModelPlayer
    players = [
        kind(f"lm:{i}", engine, tiny.chat, sampling=Sampling(1.0, 99), style="full", reply="tags", context=name)  # type: ignore[arg-type]
        for i, engine in enumerate(engines)
    ]
    assert all(isinstance(player, Concurrent) is concurrent for player in players)
    jobs = [MatchJob(f"m{i}", load_game(GAMES[i % 4]), players, i) for i in range(16)]
    remembered = 0
    finished = list(play(jobs, schedule=schedule))
    for played in finished:
        assert played.ending.seat is None
        said: dict[int, list[str]] = {0: [], 1: []}
        for turn in played.turns:
            secrets = re.findall(r"secret-\d+", tiny.chat.tokenizer.decode(list(turn.trace.prompt)))
            mine = said[turn.seat]
            assert secrets == (mine if name == "full" else mine[-2:])
            remembered += len(secrets)
            said[turn.seat] += re.findall(r"secret-\d+", turn.text)
        assert check_prompts(played, tiny.chat) == len(played.turns)
    assert remembered > 0
    everything = [secret for engine in engines for secret in engine.secrets]
    assert len(set(everything)) == len(everything) == sum(len(played.turns) for played in finished)


def test_truncated_thoughts_are_hidden_from_their_author(tiny: LoadedModel) -> None:
    player = LanguageModelPlayer(
        "lm:t",
        ThinkingEngine(tiny.chat),
        tiny.chat,
        sampling=Sampling(1.0, 99),
        style="full",
        reply="tags",
        context="truncated",
    )
    (played,) = play([MatchJob("m", load_game("tic_tac_toe"), [player, player], 0)])
    prompts = [tiny.chat.tokenizer.decode(list(turn.trace.prompt)) for turn in played.turns]
    assert not any("secret" in prompt for prompt in prompts)
    assert "[TRUNCATED]</think><move>a3</move>" in prompts[2]


@pytest.mark.parametrize(("name", "told"), [("full", 2), ("last-1", 2), ("state", 1)])
def test_retry_prompts_state_the_reason(tiny: LoadedModel, name: str, told: int) -> None:
    """In a conversation the reason is in the next message; in a chat of one message it is in front of it."""
    other = LanguageModelPlayer("lm:t", ThinkingEngine(tiny.chat), tiny.chat, sampling=Sampling(1.0, 99), style="full")
    job = MatchJob(
        "m", load_game("tic_tac_toe"), [lm(tiny, name, 3), other], 1, on_illegal=FailurePolicy.parse("retry(1)")
    )
    (played,) = play([job])
    first, second = (tiny.chat.tokenizer.decode(list(turn.trace.prompt)) for turn in played.turns[:2])
    assert played.turns[0].reading != "move"
    assert "Legal moves: a3, b3" not in first
    messages = second.split("<|user|>")[1:]
    assert len(messages) == told
    assert re.match(r".+\. Legal moves: a3, b3", messages[-1])


def test_prompt_has_no_side_effects(tiny: LoadedModel) -> None:
    class Peeking(LanguageModelPlayer):
        def act(self, asks):  # type: ignore[no-untyped-def]
            prompts = [self.prompt(ask) for ask in asks]
            replies = super().act(asks)
            assert prompts == [reply.trace.prompt for reply in replies]
            return replies

    plain, peeking = (
        kind("lm:t", tiny.engine(), tiny.chat, sampling=Sampling(1.0, 5), context="full")
        for kind in (LanguageModelPlayer, Peeking)
    )
    policy, game = FailurePolicy.parse("random"), load_game("tic_tac_toe")
    (one,), (other,) = (
        list(play([MatchJob("m", game, [player, player], 3, on_illegal=policy)])) for player in (plain, peeking)
    )
    assert one.events == other.events
