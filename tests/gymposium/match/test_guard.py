"""A guarded player's exception forfeits its match and changes nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from gymposium import load_game, make_player
from gymposium.errors import GymposiumError, IllegalMove
from gymposium.games.protocol import Game, Style
from gymposium.match import SCHEDULES, EngineError, Guard, MatchJob, MatchResult, Schedule, play
from gymposium.match.ending import Ending
from gymposium.match.watchdog import Watchdog
from gymposium.players.protocol import Ask, Player, Reply, Usage
from gymposium.records import Record, find_first_difference
from gymposium.replies.reading import READERS, Reader

RANDOM = make_player("random")
BAD = {"3", "7"}
"""The matches in which players of these tests fail."""


class FailingPlayer:
    """Plays at random; in the bad matches it does something else from its second turn on."""

    name = "failing"
    reader: Reader = READERS["move"]
    style: Style = "compact"

    def __init__(self, instead: Callable[[], Any]) -> None:
        self._instead = instead

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        [reply] = RANDOM.act([ask])  # what it drew before it failed is drawn again
        return self._instead() if ask.key in BAD and ask.turn else reply  # type: ignore[no-any-return]


class FuturePlayer(FailingPlayer):
    """The same player, with futures."""

    def submit(self, ask: Ask) -> Future[Reply]:
        reply = self._reply(ask)
        done: Future[Reply] = Future()
        done.set_result(reply)
        return done


def raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def matches(player: Player, game: str, schedule: Schedule = "rounds", **how: Any) -> dict[str, MatchResult]:
    jobs = [MatchJob(str(n), load_game(game), (player, RANDOM), n, 100 + n) for n in range(12)]
    return {one.job.id: one for one in play(jobs, schedule=schedule, guard=Guard(), **how)}


def plays(found: dict[str, MatchResult]) -> dict[str, Any]:
    return {name: (one.events, one.utilities) for name, one in found.items() if name not in BAD}


@pytest.mark.parametrize("how", [{}, {"at_once": 1}, {"watchdog": Watchdog(60)}])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kind", [FailingPlayer, FuturePlayer])
@pytest.mark.parametrize("game", ["tic_tac_toe", "goofspiel(num_cards=4)"])
def test_crash_costs_only_its_match(
    game: str, kind: type[FailingPlayer], schedule: Schedule, how: dict[str, Any]
) -> None:
    found = matches(kind(raising(ZeroDivisionError("no\nway"))), game, schedule, **how)
    assert plays(found) == plays(matches(RANDOM, game))
    for name in BAD:
        one = found[name]
        assert one.ending == Ending("crashed", 0, "ZeroDivisionError: no way")
        assert one.utilities[0] == load_game(game).utility_range[0]
        assert sum(turn.seat == 0 for turn in one.turns) == 1
    assert [find_first_difference(Record.parse(Record.from_match(one).line())) for one in found.values()] == [None] * 12


@pytest.mark.parametrize(
    "instead",
    [
        lambda: None,
        lambda: "a1",
        lambda: Reply(None),  # type: ignore[arg-type]
        lambda: Reply("a1", "whenever"),  # type: ignore[arg-type]
        lambda: Reply("a1", action="4"),  # type: ignore[arg-type]
        lambda: Reply("a1", usage=Usage(-1)),
        lambda: Reply("a1", usage=Usage(seconds=float("nan"))),
        lambda: Reply("a1", usage=Usage(cost=-0.5)),
        lambda: Reply("a1", usage=3),  # type: ignore[arg-type]
        raising(SystemExit(0)),
        raising(IllegalMove(0, "z9", ["a1"])),
    ],
)
def test_invalid_reply_is_a_crash(instead: Callable[[], Any]) -> None:
    found = matches(FailingPlayer(instead), "tic_tac_toe")
    assert {name for name, one in found.items() if one.ending.kind == "crashed"} == BAD
    assert plays(found) == plays(matches(RANDOM, "tic_tac_toe"))


def test_missing_replies_crash_only_their_matches() -> None:
    class ShortPlayer(FailingPlayer):
        def act(self, asks: Sequence[Ask]) -> list[Reply]:
            return super().act(asks)[: len(asks) - any(ask.key in BAD for ask in asks)]

    found = matches(ShortPlayer(lambda: None), "tic_tac_toe")
    assert {name for name, one in found.items() if one.ending.kind == "crashed"} == BAD
    assert (
        found["3"].ending.detail
        == "TypeError: player failing was asked for 1 reply but returned a list of 0. Return one per ask"
    )


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_infrastructure_errors_are_not_blamed_on_the_player(schedule: Schedule) -> None:
    gone = FuturePlayer(raising(GymposiumError("The server is gone.")))
    for one in matches(gone, "kuhn_poker", schedule).values():
        assert one.ending.seat is None
        assert one.ending.broke_off != bool(one.utilities)
    found = matches(gone, "tic_tac_toe", schedule)
    for name in BAD:
        assert found[name].ending.detail == "seat 0 (failing) could not be asked: The server is gone."
        assert Record.from_match(found[name]).returns == []
    assert plays(found) == plays(matches(RANDOM, "tic_tac_toe"))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("part", ["new", "apply", "observe"])
def test_engine_failure_breaks_off_only_its_match(part: str, schedule: Schedule) -> None:
    class Broken:
        """A game or match whose engine fails at the third event, or at the beginning."""

        def __init__(self, whole: Any, bad: bool) -> None:
            self._whole, self._bad = whole, bad

        def __getattr__(self, name: str) -> Any:
            if self._bad and name == part and len(self._whole.events) > 2:
                raise ZeroDivisionError("dark")
            return getattr(self._whole, name)

    class Fragile(Broken):
        def new(self, seed: int) -> Any:
            if part == "new" and str(seed) in BAD:
                raise ZeroDivisionError("dark")
            return Broken(self._whole.new(seed), str(seed) in BAD)

    class Looks(FailingPlayer):
        def _reply(self, ask: Ask) -> Reply:
            ask.observe()
            return RANDOM.act([ask])[0]

    game: Game = Fragile(load_game("tic_tac_toe"), False)  # type: ignore[assignment]
    looks = Looks(lambda: None)
    jobs = [MatchJob(str(n), game, (looks, looks), n, 100 + n) for n in range(12)]
    found = {one.job.id: one for one in play(jobs, schedule=schedule, guard=Guard())}
    assert {name: one.ending.detail for name, one in found.items() if one.ending.broke_off} == dict.fromkeys(
        BAD, "ZeroDivisionError: dark"
    )
    assert plays(found) == plays(matches(RANDOM, "tic_tac_toe"))
    with pytest.raises(EngineError):
        list(play(jobs, schedule=schedule))


def test_false_crash_ending_is_detected() -> None:
    record = Record.from_match(matches(FailingPlayer(raising(KeyError("x"))), "tic_tac_toe")["3"])
    assert record.ending == Ending("crashed", 0, "KeyError: 'x'")
    for ending, difference in [
        (Ending("no legal move", 0), "the replies end where seat 0 is to give one"),
        (Ending("crashed", 1, "KeyError"), "the replies end where seat 0"),
        (
            Ending("crashed", 0, others=(Ending("crashed", 1),)),
            "Seat 1 crashed.' is recorded, but the replay gives 'Seat 0 crashed and forfeits.'",
        ),
    ]:
        assert difference in (find_first_difference(dataclasses.replace(record, ending=ending)) or "")
    whole = Record.from_match(matches(RANDOM, "tic_tac_toe")["3"])
    assert "the replay gives 'The game is over.'" in (
        find_first_difference(dataclasses.replace(whole, ending=Ending("crashed", 0, "x"))) or ""
    )
