"""Worlds under the driver: concurrent calls, broken worlds, and records that replay."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from tests.gymposium.tasks.guessing import Meeting, ScriptedPlayer, a_guess, guessing, misbehaving

from gymposium import Table, make_player
from gymposium.games.protocol import CHANCE, Event
from gymposium.match import EngineError, MatchJob, MatchResult, Schedule, play
from gymposium.players.protocol import Ask, Reply
from gymposium.records import Record
from gymposium.records.replay import find_replay_difference
from gymposium.tasks import ToolGame
from gymposium.tasks.running import start_coroutine

SCHEDULES: tuple[Schedule, ...] = ("rounds", "streaming")


def played(game: ToolGame, *players: Any, schedule: Schedule = "rounds", seed: int = 4) -> list[MatchResult]:
    jobs = [MatchJob(f"m{number}", game, [player], seed) for number, player in enumerate(players)]
    return sorted(play(jobs, schedule=schedule), key=lambda result: result.job.id)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_calls_of_many_matches_run_concurrently(schedule: Schedule) -> None:
    """Each call waits until those of all matches have begun."""
    game = guessing(meeting=Meeting(32))
    results = played(game, *[ScriptedPlayer(misbehaving("meet"), a_guess(4))] * 32, schedule=schedule)
    assert [result.paid for result in results] == [(1.0,)] * 32


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_broken_world_costs_only_its_match(schedule: Schedule) -> None:
    game = guessing()
    good, bad = ScriptedPlayer(a_guess(2), a_guess(4)), ScriptedPlayer(a_guess(2), misbehaving("raise"))
    results = played(game, good, bad, good, schedule=schedule)
    assert [result.ending.kind for result in results] == ["over", "broke off", "over"]
    assert results[1].ending.detail == "The tool misbehave failed: OSError: the server is gone"
    assert len(results[1].events) == 3
    assert results[1].paid == ()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_unopenable_task_breaks_off_before_it_begins(schedule: Schedule) -> None:
    (result,) = played(guessing(reachable=False), ScriptedPlayer(a_guess(1)), schedule=schedule)
    assert (result.ending.kind, result.events) == ("broke off", [])
    assert result.ending.detail == "The opening of the task failed: ConnectionError: no server answers"


class RetainingPlayer(ScriptedPlayer):
    """A player that keeps what it was asked, as one may that is slow to let go of a match."""

    kept: ClassVar[list[Ask]] = []

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        self.kept.extend(asks)
        return super().act(asks)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("last", [a_guess(4), "no call", misbehaving("raise")])
def test_world_is_closed_with_its_match(last: str, schedule: Schedule) -> None:
    game = guessing()
    played(game, RetainingPlayer(a_guess(2), last), schedule=schedule)
    start_coroutine(asyncio.sleep(0)).result()  # after the closing, which nobody waits for
    assert [world.closed for world in game.tasks.opened] == [1]  # type: ignore[attr-defined]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_open_tasks_are_limited(schedule: Schedule) -> None:
    game = guessing()
    game.tasks.at_once = 3  # type: ignore[attr-defined]
    still_open: list[int] = []

    def jobs() -> Iterator[MatchJob]:
        for number in range(8):
            still_open.append(sum(not world.over() for world in game.tasks.opened))  # type: ignore[attr-defined]
            yield MatchJob(f"m{number}", game, [ScriptedPlayer(a_guess(number % 2), a_guess(4), a_guess(4))], 4)

    assert [result.paid for result in play(jobs(), schedule=schedule)] == [(1.0,)] * 8
    assert max(still_open) == 3  # the job that is held back has been taken


def test_table_raises_the_world_failure() -> None:
    table = Table(guessing(), seed=4)
    table.answer(0, a_guess(1))
    with pytest.raises(EngineError, match=r"The world of guessing failed in match .*the server is gone"):
        table.answer(0, misbehaving("raise"))
    assert table.record().ending.broke_off


def test_reply_without_a_call_is_unparsable() -> None:
    (result,) = played(guessing(), ScriptedPlayer("Four!"))
    assert (result.ending.kind, result.turns[0].reading) == ("no legal move", "unparsable")


def test_random_player_calls_tools() -> None:
    results = played(guessing(), *[make_player("random")] * 5)
    assert {turn.reading for result in results for turn in result.turns} == {"move"}


@pytest.mark.parametrize("purity", ["pure", "recorded"])
def test_records_replay(purity: Any) -> None:
    game = guessing(purity)
    players = [
        ScriptedPlayer(a_guess(2), a_guess(4)),
        ScriptedPlayer(a_guess(2), "?"),
        ScriptedPlayer(a_guess(2), misbehaving("raise")),
    ]
    for result in played(game, *players):
        opened = len(game.tasks.opened)  # type: ignore[attr-defined]
        difference = find_replay_difference(game, Record.from_match(result))
        assert difference is None or difference.startswith("The match broke off")
        again = len(game.tasks.opened) - opened  # type: ignore[attr-defined]
        assert again == (purity == "pure"), "tools are called again where they are pure, and only there"


def test_changed_result_of_a_pure_tool_is_detected() -> None:
    (result,) = played(guessing(), ScriptedPlayer(a_guess(2), a_guess(4)))
    record = Record.from_match(result)
    outcome = record.events[2].move.replace("higher", "lower")
    changed = replace(record, events=[*record.events[:2], Event(CHANCE, outcome), *record.events[3:]])
    assert "event 2 is" in (find_replay_difference(guessing(), changed) or "")
