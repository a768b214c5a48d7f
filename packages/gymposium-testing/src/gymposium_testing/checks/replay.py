"""Check records: any prefix of a match's events loads, and invalid events do not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gymposium.errors import BadRecord, GymposiumError
from gymposium.games.protocol import CHANCE, Event, Game, Match
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.records import RecordWriter, verify_file
from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_testing.contract import (
    NORMAL,
    CheckFailed,
    Effort,
    NotApplicable,
    describe_position,
    format_error,
    format_events,
)
from gymposium_testing.positions import Snapshot
from gymposium_testing.walk import START_COST, AnyPlayer, derive_match_seed, play_moves, play_steps, play_to_end

_MAX_CUTS = 20
"""Number of positions of a match that are loaded."""
_DO = "rebuild the match, chance included, from the events alone; with the seed, repeat the original draws."


def events_reproduce_the_match(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """`load(events)` reproduces a finished match, with and without its seed."""
    for match in play_to_end(game, seed, effort.decisions):
        end = Snapshot.from_match(match)
        for own_seed in (None, match.seed):
            loaded = game.load(list(end.events), own_seed)
            end.compare(
                loaded, f"load(events, {own_seed}) gives a different match", where=describe_position(match), fix=_DO
            )


def prefixes_load_and_continue(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """The events up to any decision load as that position. With the seed, the remaining moves reproduce the rest of
    the match, chance included."""
    left, number = effort.decisions // 2, 0
    while left > 0:
        match = game.new(derive_match_seed(seed, number))
        moves: list[dict[int, str]] = []
        cuts: dict[int, Snapshot] = {}
        every = 1
        for turn, now in enumerate(play_steps(match, stream(seed, "moves", number), moves)):
            if turn % every == 0:
                cuts[turn] = Snapshot.from_match(now)
            if len(cuts) > _MAX_CUTS:
                every *= 2
                cuts = {turn: cut for turn, cut in cuts.items() if turn % every == 0}
        end = Snapshot.from_match(match)
        for turn, cut in cuts.items():
            piece = game.load(list(cut.events), match.seed)
            where = f"{game.name}, after {format_events(cut.events)}"
            cut.compare(piece, "a position loaded from its events differs", where=where, fix=_DO)
            play_moves(piece, moves[turn:])
            what = f"loaded with its seed {match.seed} and continued with the same moves, the match diverges"
            end.compare(
                piece,
                what,
                where=f"{game.name}, loaded after {quantity(len(cut.events), 'event')}",
                fix=_DO,
            )
            left -= 1
        left -= START_COST
        number += 1


def invalid_records_are_rejected(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Events that break the rules raise BadRecord: illegal moves, wrong seats, extra events, impossible chance
    outcomes."""
    for match in play_to_end(game, seed, effort.decisions // 8):
        for what, events in _falsify(match):
            try:
                game.load(events)
            except BadRecord:
                continue
            except Exception as error:  # noqa: BLE001 (a game may raise anything)
                outcome = f"raises {format_error(error)}"
            else:
                outcome = "is loaded"
            raise CheckFailed(
                f"a record with {what} {outcome}.",
                where=f"{game.name}, events {format_events(events)}",
                fix="raise BadRecord from load() with the event's number and what is wrong with it.",
            )


def _falsify(match: Match) -> Iterator[tuple[str, list[Event]]]:
    """Yield invalid versions of a match's events, each with its error."""
    events = list(match.events)
    last = max(number for number, event in enumerate(events) if event.seat != CHANCE)
    seat, move = events[last]
    if match.game.spec.tools or not match.game.spec.free_text:
        yield "an illegal move", [*events[:last], Event(seat, "no such move"), *events[last + 1 :]]
    yield "an event after the end", [*events, Event(seat, move)]
    yield "a seat that does not exist", [*events[:last], Event(match.game.seats, move), *events[last + 1 :]]
    first = next((number for number, event in enumerate(events) if event.seat == CHANCE), None)
    if first is not None:
        outcome = Event(CHANCE, "no such outcome")
        yield "an impossible outcome of chance", [*events[:first], outcome, *events[first + 1 :]]


def records_verify(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """The driver's matches, written by RecordWriter, pass `gymposium verify`."""
    registered = False
    with suppress(GymposiumError):
        registered = load_game(game.name).spec.entry_point == game.spec.entry_point
    if not registered:
        raise NotApplicable("the game is not registered, so its records cannot be verified")
    count = max(1, min(20, effort.decisions // (4 * game.max_decisions)))
    jobs = (MatchJob(f"m{n}", game, [AnyPlayer()] * game.seats, derive_match_seed(seed, n), n) for n in range(count))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matches.jsonl"
        with RecordWriter(path) as writer:
            for result in play(jobs):
                writer.write(result)
        verification = verify_file(path)
    if verification.problems or verification.matches != count:
        raise CheckFailed(
            "records of the game do not verify: " + "; ".join(problem.what for problem in verification.problems[:3]),
            where=game.name,
            fix=_DO,
        )
