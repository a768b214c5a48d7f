"""The leak check: what a seat sees must depend on all that it may know, and on nothing else.

In two worlds that a seat cannot tell apart (see `gymposium.testing.worlds`) all that the seat sees must be equal:
prompts in both styles, legal moves and actions, the tensor, and the error messages for bad moves. If its views differ,
its prompts must differ too. The check also compares every position of every random match with all others.

The check trusts `view`: it does not find what the view itself gives away. So a view must come from an engine or be
written by hand; it must not be made from the text.

    from gymposium import load_game
    from gymposium.testing import assert_no_leaks

    def test_my_game_hides_what_it_should():
        assert_no_leaks(load_game("my_game"))
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

from gymposium.errors import IllegalMove
from gymposium.games.protocol import Event, Game, Match, Style
from gymposium.prompt import prompt_for
from gymposium.reading import READERS, read
from gymposium.streams import stream
from gymposium.testing.contract import CheckFailed, events_in_words, unlike
from gymposium.testing.positions import STYLES, sight
from gymposium.testing.walk import any_move
from gymposium.testing.worlds import Finder, How, WorldPosition

JUNK = "no such move"

LeakKind = Literal["leak", "coarse view", "blind prompt"]
_MEANING: dict[LeakKind, str] = {
    "leak": "what the seat sees changes with something that it may not know",
    "coarse view": "the seat's views are equal now but what it sees is not: view() must hold all that it knows",
    "blind prompt": "the seat's views differ but its prompts are equal: the text leaves something out",
}
_DO: dict[LeakKind, str] = {
    "leak": "make it from what the seat may know alone; where the seat may know it after all, put it into view().",
    "coarse view": "put what the seat sees into view(), or show less.",
    "blind prompt": "tell it in observe(), or take what the seat need not know out of view().",
}


@dataclass(frozen=True, slots=True)
class Leak:
    """Two positions that together show one leak."""

    fault: LeakKind
    seat: int
    what: str
    """What the seat sees differently: `full prompt`, `tensor`, …"""
    events: tuple[Event, ...]
    other_events: tuple[Event, ...]
    shown: object
    """What the seat saw; its view for a blind prompt."""
    other_shown: object

    def __str__(self) -> str:
        shown, other = unlike(self.shown, self.other_shown)
        return (
            f"{self.fault} in the {self.what} of seat {self.seat}: {_MEANING[self.fault]}.\n"
            f"  after {events_in_words(self.events)}\n    {shown}\n"
            f"  after {events_in_words(self.other_events)}\n    {other}\n"
            f"  to do: {_DO[self.fault]}"
        )


@dataclass(slots=True)
class LeakReport:
    """What the check compared and found: at most one leak of each kind for each seat and thing shown."""

    game: Game
    positions: int = 0
    """Positions compared, counted once for each seat."""
    found: dict[How, int] = field(default_factory=dict)
    """Number of worlds with other hidden events than the position compared with, by the method that found them."""
    leaks: list[Leak] = field(default_factory=list)

    @property
    def worlds(self) -> int:
        """Number of pairs of worlds compared. 0 proves nothing about a game that hides something."""
        return sum(self.found.values())

    def __str__(self) -> str:
        found = ", ".join(f"{count} {how}" for how, count in self.found.items() if count)
        counts = (
            f"{self.game.name}: {self.positions} positions, {self.worlds} worlds compared ({found or 'none'}), "
            f"{len(self.leaks)} leaks"
        )
        return "\n".join([counts, *map(str, self.leaks)])


def assert_no_leaks(
    game: Game, seed: int = 0, *, matches: int = 20, tries: int = 12, events: int = 300_000
) -> LeakReport:
    """Run `check_leaks` as a test.

    Raises `CheckFailed` if it finds a leak, or if the game says that it hides something and no worlds were found."""
    report = check_leaks(game, seed, matches=matches, tries=tries, events=events)
    if report.leaks:
        raise CheckFailed(str(report), do="each leak says it.")
    if game.spec.information == "imperfect" and not report.worlds:
        raise CheckFailed(f"{report}\nNothing was compared, though the spec says information='imperfect'.", do=DECLARE)
    return report


DECLARE = (
    "let view(seat) hold what the seat knows and nothing else, from the engine or written by hand; where worlds are "
    "too rare to be met by chance, write resample(seat, rng); where nothing is hidden, say information='perfect'."
)


def check_leaks(game: Game, seed: int = 0, *, matches: int = 20, tries: int = 12, events: int = 300_000) -> LeakReport:
    """Play random matches and compare the worlds of their decisions.

    At each decision it tries `tries` alterations, one search from scratch of as many steps and one sample, until
    `events` events are replayed. Equal arguments give equal reports."""
    return _Check(game, seed).run(Finder(game, seed, matches=matches, tries=tries, events=events))


@dataclass(slots=True)
class _Shown:
    """What the seat was shown at the first position with some key."""

    history: bytes
    events: tuple[Event, ...]
    shown: dict[str, object]


class _Check:
    def __init__(self, game: Game, seed: int) -> None:
        self.game = game
        self.rng = stream(seed, "leaks")
        self.report = LeakReport(game)
        self._worlds: dict[tuple[int, tuple[int, ...], bytes], _Shown] = {}
        self._views: dict[tuple[int, tuple[int, ...], str], _Shown] = {}
        self._prompts: dict[tuple[int, Style, str], tuple[str, tuple[Event, ...]]] = {}
        self._noted: set[tuple[str, int, str]] = set()
        self._bad_moves: list[str] = [JUNK, *self._some_moves()]

    def _some_moves(self) -> list[str]:
        """Return moves for provoking refusals; each is legal in some positions."""
        match, moves = self.game.new(self.rng.getrandbits(31)), set[str]()
        for _ in range(20):
            if not match.to_move():
                break
            given = {seat: any_move(match, seat, self.rng) for seat in match.to_move()}
            moves.update(given.values())
            match.apply(given)
        return self.rng.sample(sorted(moves), min(3, len(moves)))

    def run(self, finder: Finder) -> LeakReport:
        for seen in finder:
            self._compare(seen)
        return self.report

    def _compare(self, seen: WorldPosition) -> None:
        """Compare a position with earlier ones that have the same key."""
        match, seat = seen.match, seen.seat
        seats, events, view = match.to_move(), seen.events, match.view(seat)
        self.report.positions += 1
        if seen.how != "played" and events != seen.base:
            self.report.found[seen.how] = self.report.found.get(seen.how, 0) + 1
        now = _Shown(seen.history.digest, events, self._shown(match, seat))
        twin = self._worlds.setdefault((seat, seats, now.history), now)
        if seen.how == "played" and twin.events != events:
            self.report.found["played"] = self.report.found.get("played", 0) + 1
        self._hold("leak", seat, now, twin)
        same_view = self._views.setdefault((seat, seats, view), now)
        if same_view.history != now.history:
            self._hold("coarse view", seat, now, same_view)
        if seat in seats:
            for style in STYLES:
                prompt = str(now.shown[f"{style} prompt"])
                other_view, other_events = self._prompts.setdefault((seat, style, prompt), (view, events))
                if other_view != view:
                    self._note(Leak("blind prompt", seat, f"{style} prompt", events, other_events, view, other_view))

    def _hold(self, fault: LeakKind, seat: int, one: _Shown, other: _Shown) -> None:
        for what, shown in one.shown.items():
            if shown != other.shown[what]:
                self._note(Leak(fault, seat, what, one.events, other.events, shown, other.shown[what]))

    def _note(self, leak: Leak) -> None:
        if (leak.fault, leak.seat, leak.what) not in self._noted:
            self._noted.add((leak.fault, leak.seat, leak.what))
            self.report.leaks.append(leak)

    def _shown(self, match: Match, seat: int) -> dict[str, object]:
        """Return everything that the seat sees: prompts, what `sight` returns, and the answers to bad moves."""
        shown = sight(match, seat)
        for style in STYLES:
            shown[f"{style} prompt"] = prompt_for(self.game, style, READERS["move"])(match.observe(seat, style))
            del shown[f"{style} text"]  # it is in the prompt
        if seat in match.to_move():
            for move in self._bad_moves:
                shown[f"answer to {move!r}"] = self._refusal(match, seat, move)
        return shown

    def _refusal(self, match: Match, seat: int, move: str) -> tuple[str, str]:
        """Return what the reader and the match tell the seat about a move that may be illegal."""
        legal = match.legal_moves(seat)
        reading = read(move, legal, READERS["move"], self.game.move_pattern)
        reason = "" if reading.kind == "move" else reading.reason(legal)
        if legal is None or move in legal:
            return reason, ""
        moves = {other: any_move(match, other, random.Random(0)) for other in match.to_move()}
        try:
            match.fork(random.Random(0)).apply({**moves, seat: move})
        except IllegalMove as error:
            return reason, str(error)
        return reason, "accepted"
