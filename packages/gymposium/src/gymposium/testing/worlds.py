"""Find worlds: positions that one seat cannot tell apart. The search may use the true history.

`Match.view(seat)` says what a seat may know. Two positions are *worlds* of one another for a seat if its views and its
own moves were the same at every step and the same seats are to move. Three methods find them, because each finds worlds
that the others miss:

- *altered*: draws one event of chance or of another seat again, or swaps it with another, and replays the rest;
- *from scratch*: starts a new match and searches, depth first, for moves that give the seat the same views; only this
  method finds worlds with a different number of hidden events;
- *sampled*: calls the match's own `resample`, if it has one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from gymposium.errors import BadRecord, IllegalMove, NoSampler
from gymposium.games.protocol import CHANCE, Event, Game, Match
from gymposium.streams import stream
from gymposium.testing.walk import any_move, steps

How = Literal["played", "altered", "from scratch", "sampled"]
_LOOK = 3
"""Cost of comparing a position, in events."""
_BEGIN = 15
"""Cost of making a match, in events. In some games this is most of the work."""


class SeatHistory:
    """History of a match as one seat observed it: every change of its view and its own moves, in order."""

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

    def copy(self) -> SeatHistory:
        other = SeatHistory()
        other.items, other.digest, other._view = self.items, self.digest, self._view
        return other

    def _add(self, item: str) -> None:
        self.items += (item,)
        self.digest = blake2b(self.digest + b"\0" + item.encode(errors="replace"), digest_size=16).digest()


@dataclass(slots=True)
class WorldPosition:
    """A position with the history of one seat. Use `match` before the iterator advances, which may play it on."""

    match: Match
    seat: int
    history: SeatHistory
    how: How
    base: tuple[Event, ...]
    """Events of the position that this is a world of; its own events if it was simply played."""

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self.match.events)


@dataclass(slots=True)
class _Place:
    """A decision of a random match for which worlds are sought."""

    events: tuple[Event, ...]
    seats: tuple[int, ...]
    histories: list[SeatHistory]


class Finder:
    """Iterator over positions: random matches, then worlds of their decisions, until the budget of events is spent."""

    def __init__(self, game: Game, seed: int, *, matches: int, tries: int, events: int) -> None:
        self.game, self.rng = game, stream(seed, "worlds")
        self.matches, self.tries, self.left = matches, tries, events
        self.places: list[_Place] = []

    def __iter__(self) -> Iterator[WorldPosition]:
        """Yield every position of the random matches for every seat, and then the worlds of their decisions."""
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
            self.left -= _BEGIN
            histories = [SeatHistory() for _ in range(self.game.seats)]
            before = 0
            for match in steps(self.game.new(self.rng.getrandbits(31)), self.rng):
                new, before = match.events[before:], len(match.events)
                for seat, history in enumerate(histories):
                    self.left -= _LOOK
                    _record(history, new, match, seat)
                    yield WorldPosition(match, seat, history.copy(), "played", tuple(match.events))
                if match.to_move():
                    snapshot = [history.copy() for history in histories]
                    self.places.append(_Place(tuple(match.events), match.to_move(), snapshot))

    def _load(self, events: Sequence[Event], seed: int | None = None) -> Match:
        self.left -= _BEGIN + len(events)
        return self.game.load(events, seed)

    # -- altered

    def _alter(self, place: _Place, seat: int) -> Iterator[WorldPosition]:
        """Yield worlds made by altering events, each starting from the last world found."""
        events, history = place.events, place.histories[seat]
        others = [number for number, event in enumerate(events) if event.seat != seat]
        if not others:
            return
        view = self._load(events).view(seat)
        for _ in range(self.tries):
            try:
                altered = self._altered(events, self.rng.choice(others))
                if altered is None or altered == events:
                    continue
                world = self._load(altered)
                if world.to_move() != place.seats or world.view(seat) != view:
                    continue
                if not self.has_history(altered, seat, history):
                    continue
            except BadRecord:  # the rules do not allow it
                continue
            events = altered
            yield WorldPosition(world, seat, history, "altered", place.events)

    def _altered(self, events: tuple[Event, ...], number: int) -> tuple[Event, ...] | None:
        """Return the events with one drawn again, or swapped with another event of the same seat."""
        changed = list(events)
        seat, move = events[number]
        same = [i for i, event in enumerate(events) if event.seat == seat and event.move != move]
        if same and self.rng.random() < 0.5:
            other = self.rng.choice(same)
            changed[number], changed[other] = changed[other], changed[number]
            return tuple(changed)
        if seat == CHANCE:
            drawn = self._load(events[:number], self.rng.getrandbits(31)).events[number]
        else:
            before = self._decision(events, number)
            drawn = Event(seat, any_move(before, seat, self.rng))
        changed[number] = drawn
        return tuple(changed)

    def _decision(self, events: tuple[Event, ...], number: int) -> Match:
        """Return the match at the decision that an event belongs to, as events cannot end within a joint move."""
        for begin in range(number, -1, -1):
            if begin < number and events[begin].seat in (CHANCE, events[number].seat):
                break
            try:
                return self._load(events[:begin])
            except BadRecord:
                continue
        raise BadRecord(f"Event {number} belongs to no decision.")

    def has_history(self, events: tuple[Event, ...], seat: int, history: SeatHistory) -> bool:
        """Return whether a seat has this history in these events. Raises `BadRecord`."""
        observed, before, end = SeatHistory(), 0, 0
        while True:
            while end < len(events) and events[end].seat == CHANCE:
                end += 1
            match = self._load(events[:end])
            _record(observed, events[before:end], match, seat)
            if observed.items != history.items[: len(observed.items)]:
                return False
            if end == len(events):
                return observed.digest == history.digest
            before, end = end, end + max(1, len(match.to_move()))

    # -- from scratch

    def _search(self, place: _Place, seat: int) -> Iterator[WorldPosition]:
        """Yield worlds found depth first along the history; `tries` times its length bounds the steps."""
        history = place.histories[seat]
        bound = iter(range(self.tries * (len(history.items) + 1)))
        for _ in range(self.tries):
            self.left -= _BEGIN
            start = self.game.new(self.rng.getrandbits(31))
            for world in self._steer(start, seat, SeatHistory(), history, place.seats, bound):
                yield WorldPosition(world, seat, history, "from scratch", place.events)
                return

    def _steer(
        self,
        match: Match,
        seat: int,
        observed: SeatHistory,
        history: SeatHistory,
        seats: tuple[int, ...],
        bound: Iterator[int],
    ) -> Iterator[Match]:
        observed = observed.copy()
        observed.see(match.view(seat))
        if observed.items != history.items[: len(observed.items)]:
            return
        now = match.to_move()
        if observed.digest == history.digest and now == seats:
            yield match
            return
        if not now:
            return
        for _ in range(3):
            self.left -= _LOOK
            if next(bound, None) is None:
                return
            moves = {other: any_move(match, other, self.rng) for other in now if other != seat}
            after = observed.copy()
            if seat in now:
                if len(observed.items) == len(history.items) or not history.items[len(observed.items)].startswith(
                    "did "
                ):
                    return
                moves[seat] = history.items[len(observed.items)].removeprefix("did ")
                legal = match.legal_moves(seat)
                if legal is not None and moves[seat] not in legal:  # a coarse view: found by comparing elsewhere
                    return
                after.own(moves[seat])
            child = match.fork(random.Random(self.rng.getrandbits(31)))
            child.apply(moves)
            yield from self._steer(child, seat, after, history, seats, bound)

    # -- sampled

    def _sample(self, place: _Place, seat: int) -> Iterator[WorldPosition]:
        try:
            world = self._load(place.events).resample(seat, random.Random(self.rng.getrandbits(31)))
            self.left -= len(world.events)
            alike = world.to_move() == place.seats and self.has_history(
                tuple(world.events), seat, place.histories[seat]
            )
        except (NoSampler, BadRecord):
            return
        if alike:
            yield WorldPosition(world, seat, place.histories[seat], "sampled", place.events)


def _record(history: SeatHistory, events: Sequence[Event], match: Match, seat: int) -> None:
    for event in events:
        if event.seat == seat:
            history.own(event.move)
    history.see(match.view(seat))


def go_the_same_way(one: Match, other: Match, rng: random.Random) -> bool:
    """Return whether two positions never show a difference.

    Both are forked with equal generators and played on with equal moves. Views, seats to move, legal moves and returns
    must stay equal to the end."""
    seed = rng.getrandbits(31)
    one, other = one.fork(random.Random(seed)), other.fork(random.Random(seed))
    given: list[dict[int, str]] = []
    for match in steps(one, rng, given):
        if given:
            try:
                other.apply(given[-1])
            except IllegalMove:
                return False
        if match.to_move() != other.to_move() or tuple(match.returns()) != tuple(other.returns()):
            return False
        for seat in range(match.game.seats):
            if match.view(seat) != other.view(seat) or match.legal_moves(seat) != other.legal_moves(seat):
                return False
    return True
