"""Find worlds: positions that a seat cannot distinguish.

`Match.view(seat)` defines what a seat may know. Two positions are *worlds* of one another for a seat if its views and
moves were the same at every step and the same seats are to move. Three methods find different worlds:

- *altered*: redraw an event of chance or another seat, or swap it with another event, and replay the rest;
- *from scratch*: search a new match, depth first, for moves that give the seat the same views; only this method finds
  worlds with a different number of hidden events;
- *sampled*: call the match's `resample`, if it has one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from gymposium.errors import BadRecord, IllegalMove, NoSampler
from gymposium.games.protocol import CHANCE, Event, Game, Match
from gymposium.util.streams import stream
from gymposium_testing.walk import draw_move, load_positions, play_steps

Origin = Literal["played", "altered", "from scratch", "sampled"]
_COMPARE_COST = 3
"""Cost of comparing a position, counted in events."""
_START_COST = 15
"""Cost of starting or loading a match, counted in events."""


@dataclass(frozen=True, slots=True)
class SeatHistory:
    """A match's history as one seat observed it: the seat's moves and the changes of its view, in order."""

    items: tuple[str, ...] = ()
    digest: bytes = b""
    """Digest of the items."""
    view: str | None = None
    """The last view."""

    def extend(self, events: Sequence[Event], match: Match, seat: int) -> SeatHistory:
        """Return the history extended by these events, which led to the position of `match`."""
        history = self
        for event in events:
            if event.seat == seat:
                history = history.add_move(event.move)
        return history.add_view(match.view(seat))

    def add_view(self, view: str) -> SeatHistory:
        return self if view == self.view else self._append("saw " + view, view)

    def add_move(self, move: str) -> SeatHistory:
        return self._append("did " + move, self.view)

    def is_prefix_of(self, other: SeatHistory) -> bool:
        """Return whether the other history begins with this one."""
        return self.items == other.items[: len(self.items)]

    def _append(self, item: str, view: str | None) -> SeatHistory:
        digest = blake2b(self.digest + b"\0" + item.encode(errors="replace"), digest_size=16).digest()
        return SeatHistory((*self.items, item), digest, view)


@dataclass(slots=True)
class WorldPosition:
    """A position with a seat's history.

    Use `match` before the iterator advances, because that may continue the match."""

    match: Match
    seat: int
    history: SeatHistory
    how: Origin
    base: tuple[Event, ...]
    """Events of the base position. For a position from a random match, these are its own events."""

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self.match.events)

    @property
    def differs(self) -> bool:
        """Whether the world's events differ from those of its base position."""
        return self.how != "played" and self.events != self.base


@dataclass(frozen=True, slots=True)
class _Place:
    """A decision in a random match, whose worlds are searched."""

    events: tuple[Event, ...]
    seats: tuple[int, ...]
    histories: tuple[SeatHistory, ...]


class WorldFinder:
    """An iterable over positions in random matches and then over worlds of their decisions, within an event budget."""

    def __init__(self, game: Game, seed: int, *, matches: int, tries: int, events: int) -> None:
        self.game, self.rng = game, stream(seed, "worlds")
        self.matches, self.tries, self.left = matches, tries, events
        self.places: list[_Place] = []

    def __iter__(self) -> Iterator[WorldPosition]:
        """Yield every position in the random matches for every seat, then the worlds of their decisions."""
        yield from self._play()
        self.rng.shuffle(self.places)
        for place in self.places:
            for seat in place.seats:
                if self.left <= 0:
                    return
                yield from self._alter(place, seat)
                yield from self._search(place, seat)
                yield from self._sample(place, seat)

    def _play(self) -> Iterator[WorldPosition]:
        most = self.left // 2
        for _ in range(self.matches):
            if self.places and self.left < most:
                return
            self.left -= _START_COST
            histories = [SeatHistory()] * self.game.seats
            before = 0
            for match in play_steps(self.game.new(self.rng.getrandbits(31)), self.rng):
                new, before = match.events[before:], len(match.events)
                for seat in range(self.game.seats):
                    self.left -= _COMPARE_COST
                    histories[seat] = histories[seat].extend(new, match, seat)
                    yield WorldPosition(match, seat, histories[seat], "played", tuple(match.events))
                if match.to_move():
                    self.places.append(_Place(tuple(match.events), match.to_move(), tuple(histories)))

    def _load(self, events: Sequence[Event], seed: int | None = None) -> Match:
        self.left -= _START_COST + len(events)
        return self.game.load(events, seed)

    # -- altered

    def _alter(self, place: _Place, seat: int) -> Iterator[WorldPosition]:
        """Yield worlds made by altering events. Each starts from the last world found."""
        events, history = place.events, place.histories[seat]
        if self.game.max_decisions == 1 and len(events) == 1:  # one draw, then the decision: `_search` redraws it
            return
        others = [number for number, event in enumerate(events) if event.seat != seat]
        for _ in range(self.tries if others else 0):
            try:
                altered = self._alter_event(events, self.rng.choice(others))
                if altered == events:
                    continue
                world = self._load(altered)
                alike = world.to_move() == place.seats and world.view(seat) == history.view
                if not alike or not has_history(self._load, altered, seat, history):
                    continue
            except BadRecord:  # the altered events break the rules
                continue
            events = altered
            yield WorldPosition(world, seat, history, "altered", place.events)

    def _alter_event(self, events: tuple[Event, ...], number: int) -> tuple[Event, ...]:
        """Return the events after redrawing one of them or swapping it with another event of its seat."""
        changed = list(events)
        seat, move = events[number]
        same = [i for i, event in enumerate(events) if event.seat == seat and event.move != move]
        if same and self.rng.random() < 0.5:
            other = self.rng.choice(same)
            changed[number], changed[other] = changed[other], changed[number]
        elif seat == CHANCE:
            changed[number] = self._load(events[:number], self.rng.getrandbits(31)).events[number]
        else:
            changed[number] = Event(seat, draw_move(self._load_decision(events, number), seat, self.rng))
        return tuple(changed)

    def _load_decision(self, events: tuple[Event, ...], number: int) -> Match:
        """Load the match at the decision with an event, which may be part of a simultaneous move."""
        for begin in range(number, -1, -1):
            if begin < number and events[begin].seat in (CHANCE, events[number].seat):
                break
            with suppress(BadRecord):
                return self._load(events[:begin])
        raise BadRecord(f"Event {number} belongs to no decision.")

    # -- from scratch

    def _search(self, place: _Place, seat: int) -> Iterator[WorldPosition]:
        """Yield at most one world, found by a depth-first search along the history.

        The search takes at most `tries` times the history's length steps."""
        history = place.histories[seat]
        bound = iter(range(self.tries * (len(history.items) + 1)))
        for _ in range(self.tries):
            self.left -= _START_COST
            world = self._steer(self.game.new(self.rng.getrandbits(31)), place, seat, SeatHistory(), bound)
            if world is not None:
                yield WorldPosition(world, seat, history, "from scratch", place.events)
                return

    def _steer(
        self, match: Match, place: _Place, seat: int, observed: SeatHistory, bound: Iterator[int]
    ) -> Match | None:
        """Continue `match`, which has the history so far, to a world with the place's history, or return None."""
        history, seats = place.histories[seat], match.to_move()
        observed = observed.add_view(match.view(seat))
        if not seats or not observed.is_prefix_of(history):
            return None
        if observed.digest == history.digest and seats == place.seats:
            return match
        for _ in range(3):
            self.left -= _COMPARE_COST
            if next(bound, None) is None:
                return None
            moves = {other: draw_move(match, other, self.rng) for other in seats if other != seat}
            after = observed
            if seat in seats:
                kind, _, move = (*history.items, "")[len(observed.items)].partition(" ")  # what the seat did next
                legal = match.legal_moves(seat)
                if kind != "did" or (legal is not None and move not in legal):
                    return None  # an illegal move means a coarse view, which comparisons elsewhere find
                moves[seat], after = move, observed.add_move(move)
            child = match.fork(random.Random(self.rng.getrandbits(31)))
            child.apply(moves)
            world = self._steer(child, place, seat, after, bound)
            if world is not None:
                return world
        return None

    # -- sampled

    def _sample(self, place: _Place, seat: int) -> Iterator[WorldPosition]:
        history = place.histories[seat]
        try:
            world = self._load(place.events).resample(seat, random.Random(self.rng.getrandbits(31)))
            self.left -= len(world.events)
            if world.to_move() != place.seats or not has_history(self._load, tuple(world.events), seat, history):
                return
        except (NoSampler, BadRecord):
            return
        yield WorldPosition(world, seat, history, "sampled", place.events)


def has_history(
    load: Callable[[Sequence[Event]], Match], events: Sequence[Event], seat: int, history: SeatHistory
) -> bool:
    """Return whether these events give a seat this history. Raises `BadRecord` if they break the rules."""
    observed, before = SeatHistory(), 0
    for match in load_positions(load, events):
        observed, before = observed.extend(match.events[before:], match, seat), len(match.events)
        if not observed.is_prefix_of(history):
            return False
    return observed.digest == history.digest


def are_equivalent(one: Match, other: Match, rng: random.Random) -> bool:
    """Return whether two positions stay equal to the end of a random continuation.

    Both are forked with equal generators and continued with the same moves. Views, seats to move, legal moves and
    returns are compared."""
    seed = rng.getrandbits(31)
    one, other = one.fork(random.Random(seed)), other.fork(random.Random(seed))
    moves: list[dict[int, str]] = []
    for match in play_steps(one, rng, moves):
        if moves:
            try:
                other.apply(moves[-1])
            except IllegalMove:
                return False
        if match.to_move() != other.to_move() or tuple(match.returns()) != tuple(other.returns()):
            return False
        for seat in range(match.game.seats):
            if match.view(seat) != other.view(seat) or match.legal_moves(seat) != other.legal_moves(seat):
                return False
    return True
