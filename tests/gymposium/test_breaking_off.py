"""Matches cut short: the engine fails, or a player never answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.gymposium.conftest import FragileGame

from gymposium import load_game, make_player
from gymposium.errors import BadOption
from gymposium.games.protocol import Style
from gymposium.match import EngineError, MatchJob, play
from gymposium.match.ending import Ending
from gymposium.match.watchdog import Watchdog
from gymposium.players.protocol import Ask, Reply
from gymposium.records import Record, RecordWriter, find_first_difference, read_records, verify_file
from gymposium.records.scores import Score
from gymposium.replies.reading import READERS

RANDOM = make_player("random")


class ScriptedPlayer:
    """Plays the given moves in order."""

    name, reader, style = "scripted", READERS["move"], "compact"

    def __init__(self, *moves: str) -> None:
        self.style: Style = "compact"
        self._moves = list(moves)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._moves.pop(0)) for _ in asks]


@pytest.fixture
def broken() -> EngineError:
    job = MatchJob("m7", FragileGame(), (ScriptedPlayer("a1", "c1"), ScriptedPlayer("b1", "b2")), 3)  # type: ignore[arg-type]
    with pytest.raises(EngineError) as caught:
        list(play([job]))
    return caught.value


def test_engine_failure_carries_the_partial_match(broken: EngineError) -> None:
    assert isinstance(broken.__cause__, ZeroDivisionError)
    text = str(broken)
    assert "tic_tac_toe failed in match m7 (seed 3) after 3 events, the last 'c1' of seat 0" in text
    assert "ZeroDivisionError: the centre does not hold" in text
    assert [event.move for event in broken.played.events] == ["a1", "b1", "c1"]
    assert [turn.text for turn in broken.played.turns] == ["a1", "b1", "c1", "b2"]


def test_partial_match_can_be_recorded_but_not_verified(broken: EngineError, tmp_path: Path) -> None:
    with RecordWriter(tmp_path / "m.jsonl") as writer:
        writer.write(broken.played)
    [(_, record)] = read_records(tmp_path / "m.jsonl")
    assert isinstance(record, Record)
    assert record.returns == record.results == []
    assert load_game(record.game).load(record.events).to_move() == (1,)
    [problem] = verify_file(tmp_path / "m.jsonl").problems
    assert "broke off: ZeroDivisionError" in problem.what
    record.events = [*record.events[:2], (0, "a1")]  # type: ignore[list-item]
    assert "broke off" not in (find_first_difference(record) or "")


def test_player_exception_propagates() -> None:
    with pytest.raises(IndexError):
        list(play([MatchJob("m", load_game("tic_tac_toe"), (ScriptedPlayer("a1"), ScriptedPlayer()), 0)]))


class StuckPlayer:
    """Answers at random until its turn `after`, then waits for the event."""

    name, reader, style = "stuck", READERS["move"], "compact"

    def __init__(self, go: threading.Event, after: int) -> None:
        self.style: Style = "compact"
        self._go, self._after = go, after
        self.calls = 0

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        self.calls += 1
        if any(ask.turn >= self._after for ask in asks):
            self._go.wait()
        return RANDOM.act(asks)


@pytest.fixture
def go() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("game", ["tic_tac_toe", "goofspiel(num_cards=4)"])
def test_unresponsive_player_forfeits_and_the_record_says_why(game: str, go: threading.Event, tmp_path: Path) -> None:
    loaded = load_game(game)
    jobs = [MatchJob(str(seed), loaded, (RANDOM, StuckPlayer(go, after=2)), seed) for seed in range(2)]
    played = list(play(jobs, watchdog=Watchdog(0.05)))
    for one in played:
        assert one.ending == Ending("timed out", 1)
        assert one.returns[1] == loaded.utility_range[0]
        assert sum(turn.seat == 1 for turn in one.turns) == 2
    score = Score()
    for one in played:
        score.add(one, 1)
    assert (score.failures["timed out"], score.forfeits) == (2, 2)
    with RecordWriter(tmp_path / "m.jsonl") as writer:
        for one in played:
            writer.write(one)
    assert verify_file(tmp_path / "m.jsonl").problems == []


def test_false_watchdog_ending_is_detected(go: threading.Event) -> None:
    [played] = play([MatchJob("m", load_game("tic_tac_toe"), (RANDOM, StuckPlayer(go, 1)), 0)], watchdog=Watchdog(0.05))
    record = Record.from_match(played)
    assert find_first_difference(record) is None
    record.ending = Ending("no legal move", 1)
    assert find_first_difference(record) == "the replies end where seat 1 is to give one"
    record.ending = Ending("timed out", 0)
    assert find_first_difference(record) is not None
    [whole] = play([MatchJob("m", load_game("tic_tac_toe"), (RANDOM, RANDOM), 0)])
    record = Record.from_match(whole)
    record.ending = Ending("timed out", 1)
    assert "is recorded, but the replay gives" in (find_first_difference(record) or "")


def test_overdue_player_is_not_asked_again_before_it_answers(go: threading.Event) -> None:
    stuck = StuckPlayer(go, after=0)
    jobs = [MatchJob(str(seed), load_game("tic_tac_toe"), (stuck, RANDOM), seed) for seed in range(3)]
    played = list(play(jobs, at_once=1, watchdog=Watchdog(0.05)))
    assert [result.ending for result in played] == [Ending("timed out", 0)] * 3
    assert stuck.calls == 1


def test_watchdog_does_not_affect_timely_players() -> None:
    def matches(watchdog: Watchdog | None) -> list[object]:
        jobs = [MatchJob(str(seed), load_game("kuhn_poker"), (RANDOM, RANDOM), seed) for seed in range(20)]
        return [(one.events, one.returns) for one in play(jobs, watchdog=watchdog)]

    assert matches(Watchdog(60)) == matches(None)
    job = MatchJob("m", load_game("tic_tac_toe"), (ScriptedPlayer("a1"), ScriptedPlayer()), 0)
    with pytest.raises(IndexError):
        list(play([job], watchdog=Watchdog(60)))


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), 1e10])
def test_watchdog_limit_must_be_a_number_of_seconds(seconds: float) -> None:
    with pytest.raises(BadOption, match="number of seconds"):
        Watchdog(seconds)


@pytest.mark.parametrize("part", ["observe", "legal_moves", "legal_actions", "tensor"])
def test_engine_errors_during_a_players_turn_are_engine_errors(part: str) -> None:
    class ObservingPlayer(ScriptedPlayer):
        def act(self, asks: Sequence[Ask]) -> list[Reply]:
            for ask in asks:
                assert len(ask.legal_actions) == len(ask.legal_moves or ())
                assert ask.observe().legal_moves
                assert ask.tensor().size
            return super().act(asks)

    job = MatchJob("m", FragileGame(part, after=2), (ObservingPlayer("a1", "c1"), ObservingPlayer("b1")), 0)  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="after 2 events, the last 'b1' of seat 1: ZeroDivisionError: dark") as caught:
        list(play([job]))
    assert [turn.text for turn in caught.value.played.turns] == ["a1", "b1"]
