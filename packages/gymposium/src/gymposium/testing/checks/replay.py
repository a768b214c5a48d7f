"""Replaying: the events are the match. Any piece of them loads, and nothing else does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from gymposium.driver import MatchJob, play
from gymposium.errors import BadRecord, GymposiumError
from gymposium.games.protocol import CHANCE, Event, Game, Match
from gymposium.games.registry import load_game
from gymposium.records import RecordWriter, verify_file
from gymposium.streams import stream
from gymposium.testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, after, events_in_words, short
from gymposium.testing.positions import difference, position
from gymposium.testing.walk import BEGIN, AnyPlayer, ended, match_seed, play_moves, steps

_DO = "rebuild the match from the events alone, chance too; with the seed, spend the draws that the original spent."


def events_make_the_match(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """`load(events)`, with the seed and without it, is the match at its end."""
    for match in ended(game, seed, effort.decisions):
        there = position(match)
        for given in (None, match.seed):
            again = game.load(list(match.events), given)
            differs = difference(there, here := position(again))
            if list(again.events) != list(match.events) or differs is not None:
                raise CheckFailed(
                    f"load(events, {given}) is another match: events {events_in_words(again.events)}; {differs}: "
                    f"{short(here.get(differs or ''))} instead of {short(there.get(differs or ''))}.",
                    where=after(match),
                    do=_DO,
                )


def pieces_load_and_play_on(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """The events up to any decision load as that position; with the seed, the rest of the moves then makes the rest
    of the match, chance included."""
    left, number = effort.decisions // 2, 0
    while left > 0:
        match = game.new(match_seed(seed, number))
        given: list[dict[int, str]] = []
        cuts = [(list(now.events), position(now)) for now in steps(match, stream(seed, "moves", number), given)]
        whole, end = list(match.events), position(match)
        every = max(1, len(cuts) // 12)
        for turn, (events, there) in list(enumerate(cuts))[::every]:
            piece = game.load(events, match.seed)
            differs = difference(there, position(piece))
            if differs is not None:
                raise CheckFailed(
                    f"loaded from its events, the position has another {differs}.",
                    where=f"{game.name}, after {events_in_words(events)}",
                    do=_DO,
                )
            took = play_moves(piece, given[turn:])
            if not took or list(piece.events) != whole or difference(end, position(piece)) is not None:
                raise CheckFailed(
                    f"loaded with its seed {match.seed} and played on with the same moves, the match goes another way: "
                    f"{events_in_words(piece.events)} instead of {events_in_words(whole)}.",
                    where=f"{game.name}, loaded after {len(events)} events",
                    do=_DO,
                )
            left -= 1
        left -= BEGIN
        number += 1


def false_records_are_refused(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Events that do not follow from the rules are BadRecord: a move that is not legal, a wrong seat, one event too
    many, chance that cannot be."""
    for match in ended(game, seed, effort.decisions // 8):
        for what, events in _falsified(match):
            try:
                game.load(events)
            except BadRecord:
                continue
            except Exception as error:  # noqa: BLE001 (whatever a stranger's game may raise)
                wrong = f"raises {type(error).__name__}: {short(str(error))}"
            else:
                wrong = "is loaded"
            raise CheckFailed(
                f"a record with {what} {wrong}.",
                where=f"{game.name}, events {events_in_words(events)}",
                do="raise BadRecord from load() with the number of the event and what is wrong with it.",
            )


def _falsified(match: Match) -> Iterator[tuple[str, list[Event]]]:
    events = list(match.events)
    last = max(number for number, event in enumerate(events) if event.seat != CHANCE)
    seat, move = events[last]
    if not match.game.spec.free_text:
        yield "a move that is none", [*events[:last], Event(seat, "no such move"), *events[last + 1 :]]
    yield "an event after the end", [*events, Event(seat, move)]
    yield "a seat that is not there", [*events[:last], Event(match.game.seats, move), *events[last + 1 :]]
    drawn = [number for number, event in enumerate(events) if event.seat == CHANCE]
    if drawn:
        first = drawn[0]
        yield "chance that cannot be", [*events[:first], Event(CHANCE, "no such outcome"), *events[first + 1 :]]


def records_verify(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Matches that the driver plays and RecordWriter writes are found right by `gymposium verify`."""
    try:
        known = load_game(game.name).spec.entry_point == game.spec.entry_point
    except GymposiumError:
        known = False
    if not known:
        raise NotApplicable("the game is not registered, so no record of it can be verified")
    count = max(1, min(20, effort.decisions // (4 * game.max_decisions)))
    jobs = (MatchJob(f"m{n}", game, [AnyPlayer()] * game.seats, match_seed(seed, n), n) for n in range(count))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matches.jsonl"
        with RecordWriter(path) as writer:
            for done in play(jobs):
                writer.write(done)
        found = verify_file(path)
    if found.problems or found.matches != count:
        raise CheckFailed(
            "records of the game do not verify: " + "; ".join(problem.what for problem in found.problems[:3]),
            where=game.name,
            do=_DO,
        )
