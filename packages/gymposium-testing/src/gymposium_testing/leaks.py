"""Check for leaks: a seat must see everything that it may know, and nothing else.

A seat must see the same in two worlds that it cannot distinguish (see `gymposium_testing.worlds`). This covers prompts
in both styles, legal moves and actions, tensors, and errors for illegal moves. If its views differ, its prompts must
differ. Positions from different random matches are compared, too.

The check trusts `view` and finds no leaks in it. So views must come from an engine or be written by hand, and must not
be derived from the text.

    from gymposium import load_game
    from gymposium_testing import assert_no_leaks

    def test_my_game_hides_what_it_should():
        assert_no_leaks(load_game("my_game"))
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from gymposium.errors import IllegalMove
from gymposium.games.protocol import Event, Game, Match
from gymposium.match.result import check_integer
from gymposium.replies.prompt import Prompt
from gymposium.replies.reading import READERS, read_reply
from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_testing.contract import CheckFailed, cut_to_difference, format_events
from gymposium_testing.positions import PICTURE, STYLES, observe_all
from gymposium_testing.walk import draw_moves, play_steps
from gymposium_testing.worlds import Origin, WorldFinder, WorldPosition

JUNK = "no such move"

LeakKind = Literal["leak", "coarse view", "blind prompt"]
_MEANINGS: dict[LeakKind, str] = {
    "leak": "what the seat sees changes with something that it may not know",
    "coarse view": "the seat's views are equal, but what it sees is not: view() must hold everything it knows",
    "blind prompt": "the seat's views differ but its prompts are equal: the text leaves something out",
}
_FIXES: dict[LeakKind, str] = {
    "leak": "derive it only from what the seat may know, or, if the seat may know it, add it to view().",
    "coarse view": "add what the seat sees to view(), or show less.",
    "blind prompt": "show it in observe(), or remove it from view().",
}


@dataclass(frozen=True, slots=True)
class Leak:
    """Two positions that demonstrate a leak."""

    fault: LeakKind
    seat: int
    what: str
    """What differs: `full prompt`, `tensor`, …"""
    events: tuple[Event, ...]
    other_events: tuple[Event, ...]
    shown: object
    """What the seat sees at the first position. If the leak is that prompts omit a difference, this is the seat's
    view."""
    other_shown: object

    def __str__(self) -> str:
        shown, other = cut_to_difference(self.shown, self.other_shown)
        return (
            f"{self.fault} in the {self.what} of seat {self.seat}: {_MEANINGS[self.fault]}.\n"
            f"  after {format_events(self.events)}\n    {shown}\n"
            f"  after {format_events(self.other_events)}\n    {other}\n"
            f"  to do: {_FIXES[self.fault]}"
        )


@dataclass(slots=True)
class LeakReport:
    """The result of a leak check, with at most one leak per kind, seat and `Leak.what`."""

    game: Game
    positions: int = 0
    """Number of compared positions, counted once per seat."""
    found: dict[Origin, int] = field(default_factory=dict)
    """Number of compared worlds with different hidden events, by search method."""
    leaks: list[Leak] = field(default_factory=list)

    @property
    def worlds(self) -> int:
        """Number of compared worlds. In a game with hidden information, a report with 0 worlds proves nothing."""
        return sum(self.found.values())

    def __str__(self) -> str:
        found = ", ".join(f"{count} {how}" for how, count in self.found.items() if count)
        counts = (
            f"{self.game.name}: {quantity(self.positions, 'position')}, {quantity(self.worlds, 'world')} compared "
            f"({found or 'none'}), {quantity(len(self.leaks), 'leak')}"
        )
        return "\n".join([counts, *map(str, self.leaks)])


def assert_no_leaks(
    game: Game, seed: int = 0, *, matches: int = 20, tries: int = 12, events: int = 300_000
) -> LeakReport:
    """Run `check_leaks` as a test.

    Raises `CheckFailed` for a leak, or if no worlds are found in a game with hidden information."""
    report = check_leaks(game, seed, matches=matches, tries=tries, events=events)
    if report.leaks:
        raise CheckFailed(str(report), fix="follow the advice for each leak.")
    if game.spec.information == "imperfect" and not report.worlds:
        raise CheckFailed(f"{report}\nNo worlds were compared, but the spec says information='imperfect'.", fix=DECLARE)
    return report


DECLARE = (
    "let view(seat) hold exactly what the seat knows, from the engine or written by hand; if random play "
    "rarely finds worlds, write resample(seat, rng); if nothing is hidden, declare information='perfect'."
)


def check_leaks(game: Game, seed: int = 0, *, matches: int = 20, tries: int = 12, events: int = 300_000) -> LeakReport:
    """Play random matches and compare what seats see in the worlds of each decision.

    For each decision, try `tries` alterations, one search from scratch and one sample, until `events` events have been
    replayed. The same arguments give the same report."""
    check_integer("check_leaks: seed", seed)
    check_integer("check_leaks: matches", matches, least=1)
    check_integer("check_leaks: tries", tries, least=0)
    check_integer("check_leaks: events", events, least=0)  # few, in the conformance kit, for slow games
    check = _LeakCheck(game, seed)
    for world in WorldFinder(game, seed, matches=matches, tries=tries, events=events):
        check.compare(world)
    return check.report


@dataclass(frozen=True, slots=True)
class _ShownPosition:
    """What a seat sees in a position."""

    history: bytes
    view: str
    events: tuple[Event, ...]
    shown: dict[str, object]


class _LeakCheck:
    """A running comparison of positions."""

    def __init__(self, game: Game, seed: int) -> None:
        self.game = game
        self.rng = stream(seed, "leaks")
        self.report = LeakReport(game)
        self._first: dict[tuple[object, ...], _ShownPosition] = {}
        """The first position with each key, which is a seat's history, view or prompt."""
        self._known_leaks: set[tuple[str, int, str]] = set()
        self._bad_moves: list[str] = [JUNK, *self._draw_bad_moves()]
        self._prompts = {style: Prompt(game, style, READERS["move"]) for style in STYLES}

    def _draw_bad_moves(self) -> list[str]:
        """Draw moves that are legal in some positions, to provoke errors in other positions."""
        played: list[dict[int, str]] = []
        for _ in islice(play_steps(self.game.new(self.rng.getrandbits(31)), self.rng, played), 21):
            pass
        moves = {move for joint in played for move in joint.values()}
        return self.rng.sample(sorted(moves), min(3, len(moves)))

    def compare(self, world: WorldPosition) -> None:
        """Compare a position with earlier ones that have the same history, view or prompt."""
        seat, seats, events = world.seat, world.match.to_move(), world.events
        now = _ShownPosition(world.history.digest, world.match.view(seat), events, self._observe(world.match, seat))
        self.report.positions += 1
        twin = self._first.setdefault(("history", seat, seats, now.history), now)
        if world.differs or (world.how == "played" and twin.events != events):
            self.report.found[world.how] = self.report.found.get(world.how, 0) + 1
        self._compare_shown("leak", seat, now, twin)
        same_view = self._first.setdefault(("view", seat, seats, now.view), now)
        if same_view.history != now.history:
            # a picture may show what the seat saw earlier, such as the last move
            self._compare_shown("coarse view", seat, now, same_view, but=PICTURE)
        for style in STYLES if seat in seats else ():
            prompt = f"{style} prompt"
            same_prompt = self._first.setdefault((prompt, seat, now.shown[prompt]), now)
            if same_prompt.view != now.view:
                self._add_leak("blind prompt", seat, prompt, now, same_prompt, now.view, same_prompt.view)

    def _compare_shown(
        self, fault: LeakKind, seat: int, one: _ShownPosition, other: _ShownPosition, but: str = ""
    ) -> None:
        for what, shown in one.shown.items():
            if what != but and shown != other.shown[what]:
                self._add_leak(fault, seat, what, one, other, shown, other.shown[what])

    def _add_leak(
        self,
        fault: LeakKind,
        seat: int,
        what: str,
        one: _ShownPosition,
        other: _ShownPosition,
        shown: object,
        other_shown: object,
    ) -> None:
        if (fault, seat, what) not in self._known_leaks:
            self._known_leaks.add((fault, seat, what))
            self.report.leaks.append(Leak(fault, seat, what, one.events, other.events, shown, other_shown))

    def _observe(self, match: Match, seat: int) -> dict[str, object]:
        """Return everything that the seat sees: the result of `observe_all`, and the answers to bad moves."""
        shown = observe_all(match, seat, self._prompts)
        if seat in match.to_move():
            shown.update({f"answer to {move!r}": self._try_move(match, seat, move) for move in self._bad_moves})
        return shown

    def _try_move(self, match: Match, seat: int, move: str) -> tuple[str, str]:
        """Return the messages from the reader and the match about a possibly illegal move."""
        legal = match.legal_moves(seat)
        reading = read_reply(move, legal, READERS["move"], self.game.move_pattern)
        reason = "" if reading.kind == "move" else reading.reason(legal, match.observe(seat).move_form)
        if legal is None or move in legal:
            return reason, ""
        try:
            match.fork(random.Random(0)).apply({**draw_moves(match, random.Random(0)), seat: move})
        except IllegalMove as error:
            return reason, str(error)
        return reason, "accepted"
