"""The leak check: what a seat sees depends on what it may know, on all of it, and on nothing else.

`Match.view(seat)` says what a seat may know. Two positions are *worlds* of one another for a seat where
its views, all along the way, and its own moves are the same, and the same seats are to move. In two such
worlds everything that the seat sees must be equal: prompts in both styles, legal moves and actions, the
tensor, and the messages that a bad move earns. And where its views differ, so must its prompts.

Worlds are found in two ways, since each is blind where the other sees. *Altered*: one event that is not
the seat's own is drawn again, or changes places with another, and the rest is replayed. *From scratch*:
a match is begun anew and steered, depth first, along what the seat saw; only this one meets worlds with
another number of hidden events. Besides, every position of every random match is compared with all others.

The check trusts `view`: what the view itself gives away is no leak to it. So a view comes from an engine,
or is written by hand beside the text, and never made from the text.

    from gymposium import load_game
    from gymposium.testing import assert_no_leaks

    def test_my_game_hides_what_it_should():
        assert_no_leaks(load_game("my_game"))
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal

from gymposium.errors import BadRecord, IllegalMove
from gymposium.games.protocol import CHANCE, Event, Game, Match, Style
from gymposium.prompt import prompt_for
from gymposium.reading import READERS, read
from gymposium.streams import stream
from gymposium.testing.walk import positions

STYLES: tuple[Style, ...] = ("full", "compact")
JUNK = "no such move"

Fault = Literal["leak", "coarse view", "blind prompt"]
_MEANING: dict[Fault, str] = {
    "leak": "what the seat sees changes with something that it may not know",
    "coarse view": "the seat's views are equal now but what it sees is not: view() must hold all that it knows",
    "blind prompt": "the seat's views differ but its prompts are equal: the text leaves something out",
}


@dataclass(frozen=True, slots=True)
class Leak:
    """Two positions that show one fault."""

    fault: Fault
    seat: int
    what: str
    """Which thing that the seat sees: `full prompt`, `tensor`, …"""
    events: tuple[Event, ...]
    other_events: tuple[Event, ...]
    shown: object
    other_shown: object

    def __str__(self) -> str:
        return (
            f"{self.fault} in the {self.what} of seat {self.seat}: {_MEANING[self.fault]}.\n"
            f"  after {_told(self.events)}\n    {self.shown!r}\n"
            f"  after {_told(self.other_events)}\n    {self.other_shown!r}"
        )


@dataclass(slots=True)
class LeakReport:
    """What the check compared and what it found: at most one leak of each kind for each seat and thing."""

    game: Game
    positions: int = 0
    """Positions looked at, counted once for each seat."""
    altered: int = 0
    """Worlds found by altering an event, each compared with the position it came from."""
    from_scratch: int = 0
    """Worlds found from scratch whose hidden events differ."""
    leaks: list[Leak] = field(default_factory=list)

    @property
    def worlds(self) -> int:
        """How many pairs of worlds were compared. 0 in a game that hides something proves nothing."""
        return self.altered + self.from_scratch

    def __str__(self) -> str:
        counts = (
            f"{self.game.name}: {self.positions} positions, {self.worlds} worlds compared "
            f"({self.altered} altered, {self.from_scratch} from scratch), {len(self.leaks)} leaks"
        )
        return "\n".join([counts, *map(str, self.leaks)])


def assert_no_leaks(game: Game, seed: int = 0, *, matches: int = 20, tries: int = 12) -> LeakReport:
    """`check_leaks`, as a test: AssertionError with the report where it found a leak, and where the game
    says that it hides something but no two worlds were found to compare."""
    report = check_leaks(game, seed, matches=matches, tries=tries)
    if report.leaks:
        raise AssertionError(str(report))
    if game.spec.information == "imperfect" and not report.worlds:
        raise AssertionError(f"{report}\nNothing was compared: does view() show what the seat may not know?")
    return report


def check_leaks(game: Game, seed: int = 0, *, matches: int = 20, tries: int = 12) -> LeakReport:
    """Play `matches` random matches and look for worlds at each decision: `tries` alterations, and one
    search from scratch of as many steps. Equal arguments give equal reports."""
    return _Check(game, seed).run(matches, tries)


@dataclass(slots=True)
class _Sight:
    """The first position seen with some key."""

    story: bytes
    events: tuple[Event, ...]
    shown: dict[str, object]


class _Story:
    """What one seat lived through: every change of its view, and its own moves, in order."""

    __slots__ = ("_view", "digest", "items")

    def __init__(self) -> None:
        self.items: tuple[str, ...] = ()
        self.digest = b""
        self._view: str | None = None

    def see(self, view: str) -> None:
        if view != self._view:
            self._view = view
            self._add("saw " + view)

    def own(self, move: str) -> None:
        self._add("did " + move)

    def copy(self) -> _Story:
        other = _Story()
        other.items, other.digest, other._view = self.items, self.digest, self._view
        return other

    def _add(self, item: str) -> None:
        self.items += (item,)
        self.digest = blake2b(self.digest + b"\0" + item.encode(), digest_size=16).digest()


class _Check:
    def __init__(self, game: Game, seed: int) -> None:
        self.game = game
        self.rng = stream(seed, "leaks")
        self.report = LeakReport(game)
        self._worlds: dict[tuple[int, tuple[int, ...], bytes], _Sight] = {}
        self._views: dict[tuple[int, tuple[int, ...], str], _Sight] = {}
        self._prompts: dict[tuple[int, Style, str], tuple[str, tuple[Event, ...]]] = {}
        self._found: set[tuple[str, int, str]] = set()
        self._bad_moves: list[str] = [JUNK]

    def run(self, matches: int, tries: int) -> LeakReport:
        played = [self._play() for _ in range(matches)]
        self._choose_bad_moves(played)
        for events in played:
            story = [_Story() for _ in range(self.game.seats)]
            before = 0
            for match in positions(self.game, events):
                for seat in range(self.game.seats):
                    for event in match.events[before:]:
                        if event.seat == seat:
                            story[seat].own(event.move)
                    story[seat].see(match.view(seat))
                    self._compare(match, seat, story[seat])
                for seat in match.to_move():
                    self.report.altered += self._alter(match, seat, story[seat], tries)
                    self.report.from_scratch += self._search(match, seat, story[seat], tries)
                before = len(match.events)
        return self.report

    def _play(self) -> list[Event]:
        match = self.game.new(self.rng.getrandbits(31))
        while seats := match.to_move():
            match.apply({seat: self._any_move(match, seat) for seat in seats})
        return list(match.events)

    def _any_move(self, match: Match, seat: int) -> str:
        legal = match.legal_moves(seat)
        return JUNK if legal is None else self.rng.choice(legal)

    def _choose_bad_moves(self, played: Sequence[Sequence[Event]]) -> None:
        """Moves to be refused with: one that never is a move, and some that sometimes are."""
        moves = sorted({event.move for events in played for event in events if event.seat != CHANCE})
        self._bad_moves += self.rng.sample(moves, min(3, len(moves)))

    # -- comparing

    def _compare(self, match: Match, seat: int, story: _Story) -> bool:
        """Hold a position against the earlier ones with its key. True where a world was compared."""
        self.report.positions += 1
        seats, events, view = match.to_move(), tuple(match.events), match.view(seat)
        sight = _Sight(story.digest, events, self._shown(match, seat))
        twin = self._worlds.setdefault((seat, seats, story.digest), sight)
        self._hold("leak", seat, sight, twin)
        same_view = self._views.setdefault((seat, seats, view), sight)
        if same_view.story != story.digest:
            self._hold("coarse view", seat, sight, same_view)
        if seat in seats:
            for style in STYLES:
                prompt = str(sight.shown[f"{style} prompt"])
                other_view, other_events = self._prompts.setdefault((seat, style, prompt), (view, events))
                if other_view != view:
                    self._note(Leak("blind prompt", seat, f"{style} prompt", events, other_events, prompt, prompt))
        return twin.events != events

    def _hold(self, fault: Fault, seat: int, one: _Sight, other: _Sight) -> None:
        for what, shown in one.shown.items():
            if shown != other.shown[what]:
                self._note(Leak(fault, seat, what, one.events, other.events, shown, other.shown[what]))

    def _note(self, leak: Leak) -> None:
        if (leak.fault, leak.seat, leak.what) not in self._found:
            self._found.add((leak.fault, leak.seat, leak.what))
            self.report.leaks.append(leak)

    def _shown(self, match: Match, seat: int) -> dict[str, object]:
        """Everything that the seat sees."""
        shown: dict[str, object] = {}
        to_move = seat in match.to_move()
        for style in STYLES:
            observation = match.observe(seat, style)
            shown[f"{style} prompt"] = prompt_for(self.game, style, READERS["move"])(observation)
            shown[f"{style} legal moves"] = observation.legal_moves
        shown["legal moves"] = match.legal_moves(seat)
        shown["legal actions"] = match.legal_actions(seat)
        if self.game.tensor_shape is not None:
            shown["tensor"] = match.tensor(seat).tolist()
        if to_move:
            for move in self._bad_moves:
                shown[f"answer to {move!r}"] = self._refusal(match, seat, move)
        return shown

    def _refusal(self, match: Match, seat: int, move: str) -> tuple[str, str]:
        """What the seat is told about a move that may not be legal: by the reader, and by the match."""
        legal = match.legal_moves(seat)
        reading = read(move, legal, READERS["move"], self.game.move_pattern)
        reason = "" if reading.kind == "move" else reading.reason(legal)
        if legal is None or move in legal:
            return reason, ""
        moves = {other: (match.legal_moves(other) or [JUNK])[0] for other in match.to_move()}
        try:
            match.fork(random.Random(0)).apply({**moves, seat: move})
        except IllegalMove as error:
            return reason, str(error)
        raise AssertionError(f"{self.game.name} accepts {move!r}, which is not among its legal moves {legal}")

    # -- worlds by alteration

    def _alter(self, match: Match, seat: int, story: _Story, tries: int) -> int:
        """Alter the past of `match` again and again, each time from the last world found."""
        events, found = tuple(match.events), 0
        others = [number for number, event in enumerate(events) if event.seat != seat]
        if not others:
            return 0
        for _ in range(tries):
            altered = self._altered(events, self.rng.choice(others))
            if altered is None or altered == events:
                continue
            try:
                world = self.game.load(altered)
                if world.to_move() != match.to_move() or world.view(seat) != match.view(seat):
                    continue
                lived = _lived(self.game, altered, seat)
            except BadRecord:  # the rules do not allow it
                continue
            if lived.digest == story.digest:
                events = altered
                found += self._compare(world, seat, lived)
        return found

    def _altered(self, events: tuple[Event, ...], number: int) -> tuple[Event, ...] | None:
        """The events with one of them drawn anew, or exchanged with a later or earlier one of its seat."""
        changed = list(events)
        seat, move = events[number]
        same = [i for i, event in enumerate(events) if event.seat == seat and event.move != move]
        if same and self.rng.random() < 0.5:
            other = self.rng.choice(same)
            changed[number], changed[other] = changed[other], changed[number]
            return tuple(changed)
        if seat == CHANCE:
            drawn = self.game.load(events[:number], self.rng.getrandbits(31)).events[number]
        else:
            begin = number
            while begin and events[begin - 1].seat not in (CHANCE, seat) and self._mid_move(events, begin):
                begin -= 1
            legal = self.game.load(events[:begin]).legal_moves(seat)
            if not legal:
                return None
            drawn = Event(seat, self.rng.choice(legal))
        changed[number] = drawn
        return tuple(changed)

    def _mid_move(self, events: tuple[Event, ...], end: int) -> bool:
        """Whether a piece of the record ends in the middle of a joint move."""
        try:
            self.game.load(events[:end])
        except BadRecord:
            return True
        return False

    # -- worlds from scratch

    def _search(self, match: Match, seat: int, story: _Story, tries: int) -> int:
        """Depth first, along what the seat saw; `tries` times the length of the match bounds the steps."""
        steps = iter(range(tries * (len(story.items) + 1)))
        for _ in range(tries):
            start = self.game.new(self.rng.getrandbits(31))
            for world, lived in self._steer(start, seat, _Story(), story, match.to_move(), steps):
                return int(self._compare(world, seat, lived))
        return 0

    def _steer(
        self, match: Match, seat: int, lived: _Story, story: _Story, seats: tuple[int, ...], steps: Iterator[int]
    ) -> Iterator[tuple[Match, _Story]]:
        lived = lived.copy()
        lived.see(match.view(seat))
        if lived.items != story.items[: len(lived.items)]:
            return
        now = match.to_move()
        if lived.digest == story.digest and now == seats:
            yield match, lived
            return
        if not now:
            return
        for _ in range(3):
            if next(steps, None) is None:
                return
            moves = {other: self._any_move(match, other) for other in now if other != seat}
            after = lived.copy()
            if seat in now:
                if len(lived.items) == len(story.items) or not story.items[len(lived.items)].startswith("did "):
                    return
                moves[seat] = story.items[len(lived.items)].removeprefix("did ")
                legal = match.legal_moves(seat)
                if legal is not None and moves[seat] not in legal:  # a coarse view: found by comparing elsewhere
                    return
                after.own(moves[seat])
            child = match.fork(random.Random(self.rng.getrandbits(31)))
            child.apply(moves)
            yield from self._steer(child, seat, after, story, seats, steps)


def _lived(game: Game, events: Sequence[Event], seat: int) -> _Story:
    """What a seat lived through in these events."""
    story, before = _Story(), 0
    for match in positions(game, events):
        for event in match.events[before:]:
            if event.seat == seat:
                story.own(event.move)
        story.see(match.view(seat))
        before = len(match.events)
    return story


def _told(events: Sequence[Event]) -> str:
    return ", ".join(f"{'chance' if e.seat == CHANCE else f'seat {e.seat}'}: {e.move}" for e in events) or "nothing"
