"""The schedule `streaming`: matches proceed independently, with the same moves as in `rounds`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from importlib import import_module
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.gymposium.conftest import FragileGame

from gymposium import load_game, make_player
from gymposium.errors import BadOption
from gymposium.games.protocol import Style
from gymposium.match import EngineError, MatchJob, MatchResult, Schedule, play
from gymposium.match.ending import OVER, Ending
from gymposium.match.failures import FailurePolicy
from gymposium.match.watchdog import Watchdog
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.players.random import RandomPlayer
from gymposium.records import Record, find_first_difference
from gymposium.replies.reading import READERS

RANDOM = make_player("random")
LONG = 60.0
"""Seconds after which a wait that should not have been long fails the test, and does not hang it."""


class NamedPlayer:
    """Base class of the players in this file."""

    reader = READERS["move"]

    def __init__(self, name: str = "named") -> None:
        self.name = name
        self.style: Style = "compact"


class ClumsyPlayer(NamedPlayer):
    """Plays at random and sometimes fails, from the ask's stream."""

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self.reply(ask) for ask in asks]

    def reply(self, ask: Ask) -> Reply:
        legal = ask.legal_moves or []
        draw = ask.rng.random()
        if draw < 0.1:
            return Reply("nonsense")
        return Reply(legal[int(ask.rng.random() * len(legal))], "context" if draw > 0.97 else "stop")


class ShuffledPlayer(NamedPlayer):
    """Takes any number of asks at once, and answers them in a random order."""

    def __init__(self, inner: Player, order: Sequence[int]) -> None:
        super().__init__(inner.name)
        self._inner, self._order = inner, order
        self._asked: SimpleQueue[tuple[Ask, Future[Reply]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        raise AssertionError("a concurrent player is not asked by act")

    def submit(self, ask: Ask) -> Future[Reply]:
        future: Future[Reply] = Future()
        self._asked.put((ask, future))
        return future

    def stop(self) -> None:
        self._asked.put(None)
        self._thread.join()

    def _work(self) -> None:
        pool: list[tuple[Ask, Future[Reply]]] = []
        turn = 0
        while True:
            while not pool or not self._asked.empty():
                item = self._asked.get()
                if item is None:
                    return
                pool.append(item)
            ask, future = pool.pop(self._order[turn % len(self._order)] % len(pool))
            turn += 1
            future.set_result(self._inner.act([ask])[0])


def jobs(game: str, players: Sequence[Player], n: int, policy: str = "forfeit") -> Iterator[MatchJob]:
    loaded, on_illegal = load_game(game), FailurePolicy.parse(policy)
    return (MatchJob(str(i), loaded, players, i % 5, player_seed=i, on_illegal=on_illegal) for i in range(n))


def list_records(matches: Iterator[MatchResult]) -> dict[str, object]:
    """The records without the names of the players."""
    found = {}
    for played in matches:
        record = Record.from_match(played)
        assert find_first_difference(record) is None
        record.players = []
        found[record.id] = record
    return found


# -- what is played does not depend on when the answers come


@pytest.mark.parametrize(
    ("game", "other"),
    [
        ("tic_tac_toe", "random"),
        ("connect_four", "mcts-5"),
        ("leduc_poker", "mcts-5"),
        ("kuhn_poker", "random"),
        ("goofspiel(num_cards=5)", "random"),
        ("goofspiel(num_cards=4)", "mcts-5"),
        ("openspiel:2048", None),
    ],
)
@given(
    order=st.lists(st.integers(0, 50), min_size=1, max_size=20),
    at_once=st.integers(1, 12),
    policy=st.sampled_from(["forfeit", "retry(1)", "penalty(0.5,2)", "random"]),
    swap=st.booleans(),
)
@settings(max_examples=8)
def test_streaming_matches_rounds_in_any_answer_order(
    game: str, other: str | None, order: list[int], at_once: int, policy: str, swap: bool
) -> None:
    n = 2 if game == "openspiel:2048" else 10
    late = ShuffledPlayer(ClumsyPlayer(), order)
    try:
        seated = [] if other is None else [make_player(other)]
        streamed = list_records(
            play(jobs(game, [late, *seated][:: -1 if swap else 1], n, policy), at_once=at_once, schedule="streaming")
        )
    finally:
        late.stop()
    in_step = list_records(play(jobs(game, [ClumsyPlayer(), *seated][:: -1 if swap else 1], n, policy)))
    assert streamed == in_step
    assert len(streamed) == n


@pytest.mark.parametrize("game", ["goofspiel(num_cards=5)", "leduc_poker", "tic_tac_toe"])
def test_one_player_in_all_seats(game: str) -> None:
    clumsy, late = ClumsyPlayer(), ShuffledPlayer(ClumsyPlayer(), [3, 1, 4, 1, 5])
    try:
        streamed = list_records(play(jobs(game, [late, late], 20, "retry(1)"), at_once=7, schedule="streaming"))
    finally:
        late.stop()
    assert streamed == list_records(play(jobs(game, [clumsy, clumsy], 20, "retry(1)")))


@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
def test_no_jobs_no_matches(schedule: Schedule) -> None:
    assert list(play([], schedule=schedule)) == []


def test_unknown_schedule_is_an_error() -> None:
    with pytest.raises(BadOption, match="rounds or streaming"):
        play([], schedule="stream")  # type: ignore[arg-type]


# -- who is asked when


class WaitingPlayer(NamedPlayer):
    """Plays at random once the event is set."""

    def __init__(self, gate: threading.Event, name: str = "waits") -> None:
        super().__init__(name)
        self.gate = gate
        self.asked = threading.Event()
        self.calls: list[list[str]] = []

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        self.calls.append([ask.key for ask in asks])
        self.asked.set()
        assert self.gate.wait(LONG)
        return RANDOM.act(asks)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_match_does_not_wait_for_players_of_another(gate: threading.Event) -> None:
    game = load_game("connect_four")
    slow = MatchJob("slow", game, (WaitingPlayer(gate), RANDOM), 0)
    quick = [MatchJob(str(seed), game, (RANDOM, RANDOM), seed) for seed in range(5)]
    matches = play([slow, *quick], schedule="streaming")
    assert {next(matches).job.id for _ in quick} == {job.id for job in quick}
    gate.set()
    assert [played.job.id for played in matches] == ["slow"]


def test_waiting_asks_are_batched_after_a_call(gate: threading.Event) -> None:
    """During the first call three matches begin to wait for the same player."""
    waits, seen = WaitingPlayer(gate), [0]

    def counts(ask: Ask, future: Future[Reply]) -> None:
        """The other seat of a joint move, asked after `waits`."""
        seen[0] += 1
        if seen[0] == 3:
            gate.set()
        at_once(ask, future)

    in_turn, joint = load_game("tic_tac_toe"), load_game("goofspiel(num_cards=3,points_order=descending)")
    first = MatchJob("first", in_turn, (waits, RANDOM), 0)
    short = [MatchJob(f"short-{seed}", in_turn, (RANDOM, RANDOM), seed) for seed in range(3)]
    later = [MatchJob(f"later-{seed}", joint, (waits, FuturePlayer(counts)), seed) for seed in range(3)]
    assert len(list(play([first, *short, *later], at_once=4, schedule="streaming"))) == 7
    assert waits.calls[:2] == [["first"], ["later-0", "later-1", "later-2"]]


def test_players_of_a_joint_move_run_concurrently() -> None:
    barrier = threading.Barrier(2)

    class MeetingPlayer(RandomPlayer):
        def act(self, asks: Sequence[Ask]) -> list[Reply]:
            barrier.wait(LONG)
            assert all(len(ask.observe().legal_moves or ()) == len(ask.legal_moves or ()) for ask in asks)
            return super().act(asks)

    job = MatchJob("m", load_game("goofspiel(num_cards=5)"), (MeetingPlayer(), MeetingPlayer()), 3)
    [played] = play([job], schedule="streaming")
    [in_step] = play([MatchJob("m", job.game, (RANDOM, RANDOM), 3)])
    assert played.events == in_step.events


@pytest.mark.parametrize("at_once", [1, 3])
def test_jobs_are_begun_lazily(at_once: int) -> None:
    begun: list[int] = []

    def some() -> Iterator[MatchJob]:
        for i, job in enumerate(jobs("tic_tac_toe", (RANDOM, RANDOM), 9)):
            begun.append(i)
            yield job

    matches = play(some(), at_once=at_once, schedule="streaming")
    for ended in range(1, 10):
        next(matches)
        assert len(begun) < ended + at_once  # matches may have ended together
    assert list(matches) == []


# -- what goes wrong


def player_threads(*names: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name in {f"player {name}" for name in names}]


class FailingPlayer(NamedPlayer):
    """Raises at its third turn."""

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        if any(ask.turn == 2 for ask in asks):
            raise LookupError("no idea")
        return RANDOM.act(asks)


class FuturePlayer(NamedPlayer):
    """A concurrent player that passes each future to a function and keeps it."""

    def __init__(self, do: Callable[[Ask, Future[Reply]], None], name: str = "promises") -> None:
        super().__init__(name)
        self._do = do
        self.futures: list[Future[Reply]] = []

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        raise AssertionError("a concurrent player is not asked by act")

    def submit(self, ask: Ask) -> Future[Reply]:
        future: Future[Reply] = Future()
        self.futures.append(future)
        self._do(ask, future)
        return future


def never(ask: Ask, future: Future[Reply]) -> None:
    """Never answers."""


def at_once(ask: Ask, future: Future[Reply]) -> None:
    future.set_result(RANDOM.act([ask])[0])


def test_player_exception_propagates_and_cleans_up() -> None:
    promises, game = FuturePlayer(never), load_game("tic_tac_toe")
    fails, quick = FailingPlayer("fails"), RandomPlayer()
    quick.name = "quick"
    stuck = MatchJob("stuck", game, (promises, quick), 0)
    with pytest.raises(LookupError, match="no idea"):
        list(play([stuck, MatchJob("m", game, (fails, quick), 0)], schedule="streaming"))
    assert [future.cancelled() for future in promises.futures] == [True]
    for thread in player_threads("fails", "quick"):
        thread.join(LONG)
        assert not thread.is_alive()


@pytest.mark.parametrize("error", [LookupError("no idea"), EngineError])
def test_future_and_submit_exceptions_propagate(error: Any) -> None:
    game = load_game("tic_tac_toe")
    if error is EngineError:
        other = MatchResult(MatchJob("other", game, (RANDOM, RANDOM), 0), [], [], (), Ending("broke off"))
        error = EngineError(other, ValueError("x"))

    def breaks(ask: Ask, future: Future[Reply]) -> None:
        future.set_exception(error) if ask.turn == 1 else at_once(ask, future)

    def refuses(ask: Ask, future: Future[Reply]) -> None:
        if ask.turn == 1:
            raise error
        at_once(ask, future)

    for do in (breaks, refuses):
        with pytest.raises(type(error)) as caught:
            list(play([MatchJob("m", game, (FuturePlayer(do), RANDOM), 0)], schedule="streaming"))
        assert caught.value is error


def test_wrong_number_of_replies_is_an_error() -> None:
    class SilentPlayer(NamedPlayer):
        def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
            return []

    with pytest.raises(TypeError, match="player named was asked for 1 reply but returned a list of 0"):
        list(play([MatchJob("m", load_game("tic_tac_toe"), (SilentPlayer(), RANDOM), 0)], schedule="streaming"))


def test_stopping_early_cleans_up(gate: threading.Event) -> None:
    game, promises, waits = load_game("tic_tac_toe"), FuturePlayer(never), WaitingPlayer(gate, "closed")
    begun = [MatchJob("a", game, (promises, RANDOM), 0), MatchJob("b", game, (waits, RANDOM), 0)]
    matches = play([*begun, MatchJob("c", game, (RANDOM, RANDOM), 0)], schedule="streaming")
    assert next(matches).job.id == "c"
    assert waits.asked.wait(LONG)
    matches.close()  # type: ignore[attr-defined]
    assert promises.futures[0].cancelled()
    [thread] = player_threads("closed")  # its call is let go, and it ends with it
    gate.set()
    thread.join(LONG)
    assert not thread.is_alive()


class ScriptedPlayer(NamedPlayer):
    def __init__(self, *moves: str, look: bool = False) -> None:
        super().__init__("says")
        self._moves, self._look = moves, look

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        for ask in asks if self._look else ():
            ask.tensor()
        return [Reply(self._moves[ask.turn]) for ask in asks]


@pytest.mark.parametrize("look", [False, True])
def test_engine_failure_carries_its_match_and_finished_ones(look: bool) -> None:
    players = (ScriptedPlayer("a1", "c1"), ScriptedPlayer("b1", "b2", look=look))
    job = MatchJob("m7", FragileGame("tensor"), players, 3)  # type: ignore[arg-type]
    with pytest.raises(EngineError) as caught:
        list(play([job], schedule="streaming"))
    assert caught.value.played.job is job
    assert [event.move for event in caught.value.played.events] == (["a1"] if look else ["a1", "b1", "c1"])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_finished_matches_are_yielded_before_a_broken_one() -> None:
    """Both matches get their answers together, from one call."""
    both = ScriptedPlayer("a1", "b1", "c1", "b2")

    class Far(ScriptedPlayer):
        def act(self, asks: Sequence[Ask]) -> list[Reply]:
            return [Reply({"whole": ["a2", "nonsense"], "broken": ["a3", "b2"]}[ask.key][ask.turn]) for ask in asks]

    whole = MatchJob("whole", load_game("tic_tac_toe"), (both, far := Far()), 0)
    broken = MatchJob("broken", FragileGame(), (both, far), 0)  # type: ignore[arg-type]
    matches = play([whole, broken], schedule="streaming")
    assert next(matches).job.id == "whole"
    with pytest.raises(EngineError):
        next(matches)


# -- the watchdog


@pytest.mark.parametrize("game", ["tic_tac_toe", "goofspiel(num_cards=4)"])
@pytest.mark.parametrize("kind", ["desk", "concurrent"])
def test_unresponsive_player_forfeits(game: str, kind: str, gate: threading.Event) -> None:
    loaded = load_game(game)

    def after_two(ask: Ask, future: Future[Reply]) -> None:
        if ask.turn < 2:
            at_once(ask, future)

    class Stuck(NamedPlayer):
        def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
            if any(ask.turn == 2 for ask in asks):
                gate.wait()
            return RANDOM.act(asks)

    stuck: Player = Stuck() if kind == "desk" else FuturePlayer(after_two)
    others = [MatchJob(f"fine-{seed}", loaded, (RANDOM, RANDOM), seed) for seed in range(5)]
    late = [MatchJob(f"late-{seed}", loaded, (RANDOM, stuck), seed) for seed in range(2)]
    played = {one.job.id: one for one in play([*late, *others], watchdog=Watchdog(0.5), schedule="streaming")}
    assert len(played) == 7
    for name, one in played.items():
        assert one.ending == (Ending("timed out", 1) if name.startswith("late") else OVER)
        assert find_first_difference(Record.from_match(one)) is None
        if name == "late-0":
            assert sum(turn.seat == 1 for turn in one.turns) == 2
    if isinstance(stuck, FuturePlayer):
        assert [future.cancelled() for future in stuck.futures].count(True) == 2


def test_late_answer_is_ignored() -> None:
    """A player's first ask is answered, or fails, after its match is over, while another match goes on."""
    game = load_game("tic_tac_toe")

    def running(ask: Ask, future: Future[Reply]) -> None:
        future.set_running_or_notify_cancel()  # as in an executor: it cannot be cancelled any more

    for end in (lambda f: f.set_result(Reply("b2")), lambda f: f.set_exception(LookupError("late"))):
        slow = FuturePlayer(running)

        def lets(ask: Ask, future: Future[Reply], end: Any = end, slow: FuturePlayer = slow) -> None:
            if ask.turn == 1:
                end(slow.futures[0])
            at_once(ask, future)

        waiting = [MatchJob("late", game, (slow, RANDOM), 0), MatchJob("next", game, (FuturePlayer(lets), RANDOM), 1)]
        late, following = play(waiting, at_once=1, watchdog=Watchdog(0.5), schedule="streaming")
        assert (late.ending, late.turns) == (Ending("timed out", 0), [])
        assert following.ending == OVER


def test_overdue_player_is_not_asked_again_before_it_answers(gate: threading.Event) -> None:
    """Asks that wait for the player have their own deadline."""
    waits = WaitingPlayer(gate)
    jobs = [MatchJob(str(seed), load_game("tic_tac_toe"), (waits, RANDOM), seed) for seed in range(3)]
    played = list(play(jobs, at_once=1, watchdog=Watchdog(0.05), schedule="streaming"))
    assert [result.ending for result in played] == [Ending("timed out", 0)] * 3
    assert waits.calls == [["0"]]


def test_asks_queued_for_an_overdue_player_time_out_too(gate: threading.Event) -> None:
    game, waits = load_game("tic_tac_toe"), WaitingPlayer(gate)
    first, *later = [MatchJob(f"late-{seed}", game, (waits, RANDOM), seed) for seed in range(4)]
    short = [MatchJob(f"short-{seed}", game, (RANDOM, RANDOM), seed) for seed in range(3)]
    played = list(play([first, *short, *later], at_once=4, watchdog=Watchdog(0.3), schedule="streaming"))
    assert [one.ending for one in played if one.job.id.startswith("late")] == [Ending("timed out", 0)] * 4
    assert waits.calls == [["late-0"]]


def test_call_time_limit_scales_with_its_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that stands still, the schedule waits for answers for exactly the limit of the open call."""
    limits: list[float] = []

    class Queue(SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            if timeout is not None:
                limits.append(timeout)
            return super().get(block, timeout)

    module = import_module("gymposium.match.streaming")
    monkeypatch.setattr(module, "SimpleQueue", Queue)
    monkeypatch.setattr(module, "monotonic", lambda: 0.0)
    # the first call asks for all three matches at once
    game, player = load_game("tic_tac_toe"), ClumsyPlayer()
    jobs = [MatchJob(str(seed), game, (player, RANDOM), seed) for seed in range(3)]
    assert len(list(play(jobs, watchdog=Watchdog(LONG), schedule="streaming"))) == 3
    assert limits[0] == 3 * LONG
    assert set(limits) <= {LONG, 2 * LONG, 3 * LONG}


def test_watchdog_does_not_affect_timely_players() -> None:
    def some(schedule: Schedule, watchdog: Watchdog | None) -> dict[str, object]:
        return list_records(play(jobs("kuhn_poker", (RANDOM, RANDOM), 20), watchdog=watchdog, schedule=schedule))

    assert some("streaming", Watchdog(LONG)) == some("rounds", None)
    job = MatchJob("m", load_game("tic_tac_toe"), (FailingPlayer(), RANDOM), 0)
    with pytest.raises(LookupError):
        list(play([job], watchdog=Watchdog(LONG), schedule="streaming"))
