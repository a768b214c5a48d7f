"""Worlds: positions that one seat cannot tell apart, found by somebody who may know the true history.

`Match.view(seat)` says what a seat may know. Two positions are *worlds* of one another for a seat where its
views, all along the way, and its own moves are the same, and the same seats are to move. They are found in
three ways, since each is blind where another sees:

- *altered*: one event that is not the seat's own is drawn again, or changes places with another, and the
  rest is replayed;
- *from scratch*: a match is begun anew and steered, depth first, along what the seat saw; only this one
  meets worlds with another number of hidden events;
- *sampled*: by the match's own `resample`, where it has one.
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
"""What looking at a position costs, in events."""
_BEGIN = 15
"""What making a match costs, in events: in some games it is all the work."""


class Story:
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

    def copy(self) -> Story:
        other = Story()
        other.items, other.digest, other._view = self.items, self.digest, self._view
        return other

    def _add(self, item: str) -> None:
        self.items += (item,)
        self.digest = blake2b(self.digest + b"\0" + item.encode(errors="replace"), digest_size=16).digest()


@dataclass(slots=True)
class Seen:
    """A position, as one seat lived up to it. `match` is to be looked at before the next one is asked for."""

    match: Match
    seat: int
    story: Story
    how: How
    base: tuple[Event, ...]
    """The events of the position that it is a world of; its own where it was simply played."""

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self.match.events)


@dataclass(slots=True)
class _Place:
    """A decision of a random match, to come back to."""

    events: tuple[Event, ...]
    seats: tuple[int, ...]
    stories: list[Story]


class Finder:
    """Plays random matches and looks for worlds at their decisions, until its budget of events is spent."""

    def __init__(self, game: Game, seed: int, *, matches: int, tries: int, events: int) -> None:
        self.game, self.rng = game, stream(seed, "worlds")
        self.matches, self.tries, self.left = matches, tries, events
        self.places: list[_Place] = []

    def __iter__(self) -> Iterator[Seen]:
        """Every position of the random matches for every seat; then, at their decisions in random order, the
        worlds that are found."""
        yield from self._play()
        self.rng.shuffle(self.places)
        for place in self.places:
            for seat in place.seats:
                if self.left <= 0:
                    return
                yield from self._alter(place, seat)
                yield from self._search(place, seat)
                yield from self._sample(place, seat)

    def _play(self) -> Iterator[Seen]:
        most = self.left // 2
        for _ in range(self.matches):
            if self.places and self.left < most:
                return
            self.left -= _BEGIN
            stories = [Story() for _ in range(self.game.seats)]
            before = 0
            for match in steps(self.game.new(self.rng.getrandbits(31)), self.rng):
                new, before = match.events[before:], len(match.events)
                for seat, story in enumerate(stories):
                    self.left -= _LOOK
                    _live(story, new, match, seat)
                    yield Seen(match, seat, story.copy(), "played", tuple(match.events))
                if match.to_move():
                    snapshot = [story.copy() for story in stories]
                    self.places.append(_Place(tuple(match.events), match.to_move(), snapshot))

    def _load(self, events: Sequence[Event], seed: int | None = None) -> Match:
        self.left -= _BEGIN + len(events)
        return self.game.load(events, seed)

    # -- altered

    def _alter(self, place: _Place, seat: int) -> Iterator[Seen]:
        """Alter the past again and again, each time from the last world found."""
        events, story = place.events, place.stories[seat]
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
                if not self.lived_alike(altered, seat, story):
                    continue
            except BadRecord:  # the rules do not allow it
                continue
            events = altered
            yield Seen(world, seat, story, "altered", place.events)

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
            drawn = self._load(events[:number], self.rng.getrandbits(31)).events[number]
        else:
            before = self._decision(events, number)
            drawn = Event(seat, any_move(before, seat, self.rng))
        changed[number] = drawn
        return tuple(changed)

    def _decision(self, events: tuple[Event, ...], number: int) -> Match:
        """The match at the decision that an event is part of: a record does not end within a joint move."""
        for begin in range(number, -1, -1):
            if begin < number and events[begin].seat in (CHANCE, events[number].seat):
                break
            try:
                return self._load(events[:begin])
            except BadRecord:
                continue
        raise BadRecord(f"Event {number} belongs to no decision.")

    def lived_alike(self, events: tuple[Event, ...], seat: int, story: Story) -> bool:
        """Whether a seat lives through the same in these events. Raises `BadRecord`."""
        lived, before, end = Story(), 0, 0
        while True:
            while end < len(events) and events[end].seat == CHANCE:
                end += 1
            match = self._load(events[:end])
            _live(lived, events[before:end], match, seat)
            if lived.items != story.items[: len(lived.items)]:
                return False
            if end == len(events):
                return lived.digest == story.digest
            before, end = end, end + max(1, len(match.to_move()))

    # -- from scratch

    def _search(self, place: _Place, seat: int) -> Iterator[Seen]:
        """Depth first, along what the seat saw; `tries` times the length of the story bounds the steps."""
        story = place.stories[seat]
        bound = iter(range(self.tries * (len(story.items) + 1)))
        for _ in range(self.tries):
            self.left -= _BEGIN
            start = self.game.new(self.rng.getrandbits(31))
            for world in self._steer(start, seat, Story(), story, place.seats, bound):
                yield Seen(world, seat, story, "from scratch", place.events)
                return

    def _steer(
        self, match: Match, seat: int, lived: Story, story: Story, seats: tuple[int, ...], bound: Iterator[int]
    ) -> Iterator[Match]:
        lived = lived.copy()
        lived.see(match.view(seat))
        if lived.items != story.items[: len(lived.items)]:
            return
        now = match.to_move()
        if lived.digest == story.digest and now == seats:
            yield match
            return
        if not now:
            return
        for _ in range(3):
            self.left -= _LOOK
            if next(bound, None) is None:
                return
            moves = {other: any_move(match, other, self.rng) for other in now if other != seat}
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
            yield from self._steer(child, seat, after, story, seats, bound)

    # -- sampled

    def _sample(self, place: _Place, seat: int) -> Iterator[Seen]:
        try:
            world = self._load(place.events).resample(seat, random.Random(self.rng.getrandbits(31)))
            self.left -= len(world.events)
            alike = world.to_move() == place.seats and self.lived_alike(tuple(world.events), seat, place.stories[seat])
        except (NoSampler, BadRecord):
            return
        if alike:
            yield Seen(world, seat, place.stories[seat], "sampled", place.events)


def _live(story: Story, events: Sequence[Event], match: Match, seat: int) -> None:
    for event in events:
        if event.seat == seat:
            story.own(event.move)
    story.see(match.view(seat))


def go_the_same_way(one: Match, other: Match, rng: random.Random) -> bool:
    """Whether two positions differ in nothing that ever shows: forked with equal generators and played on with
    equal moves, all seats' views, the seats to move, legal moves and returns stay equal to the end."""
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
