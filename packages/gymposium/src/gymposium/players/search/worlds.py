"""Worlds that a seat cannot distinguish from the true match, found from its observations and moves.

A depth-first search steers a new match along the seat's log. The seat repeats its own moves, and the other seats' moves
and chance are drawn. A branch is dropped when its view is neither the last nor the next view in the log. At the seat's
next decision each world is continued, and only missing worlds are searched from the start. The effort is bounded by
steps (matches begun and moves applied), never by time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gymposium.games.protocol import Game, Match
from gymposium.players.search.viewlog import Item

TRIES = 64
"""Number of times that chance and the other seats' moves are drawn at one position before the branch is dropped.

It is more than one because a matching roll or card may need several draws."""
STEPS_PER_BRANCH = 400
"""Number of steps without a world before the search restarts, because the wrong choice was probably made long
before."""
FIRST = 10
"""Factor on the step limit for the first world. If that many steps find no world, more are unlikely to."""


class Worlds:
    """One seat's worlds in one match."""

    __slots__ = ("_at", "_found", "_game", "_seat", "_steps")

    def __init__(self, game: Game, seat: int) -> None:
        self._game, self._seat = game, seat
        self._found: list[Match] = []
        self._at = 0
        """Number of log items that the kept worlds match."""
        self._steps = 0

    def update(
        self, log: Sequence[Item], legal: Sequence[str], count: int, steps_per_world: int, rng: random.Random
    ) -> list[Match]:
        """Return up to `count` worlds that match all of `log`, where the seat is to move with these legal moves.

        This takes at most `count * steps_per_world` steps. Returns [] if the first `FIRST * steps_per_world` steps find
        no world."""
        self._steps = count * steps_per_world
        give_up = max(self._steps - FIRST * steps_per_world, 0)
        starts, self._found = self._found, []
        at, self._at = self._at, len(log)

        def stop() -> int:
            """Return the number of remaining steps when the search must stop."""
            return 0 if self._found else give_up

        def extend(world: Match, at: int) -> None:
            end = self._steer(world, at, log, legal, max(self._steps - STEPS_PER_BRANCH, stop()), rng)
            if end is not None:
                self._found.append(end)

        for world in starts:
            if len(self._found) < count:
                extend(world, at)
        while len(self._found) < count and self._steps > stop():
            self._steps -= 1
            world = self._game.new(rng.getrandbits(48))
            if world.view(self._seat) == log[0].text:
                extend(world, 1)
        return self._found

    def _steer(
        self, start: Match, at: int, items: Sequence[Item], legal: Sequence[str], stop: int, rng: random.Random
    ) -> Match | None:
        """Continue `start`, which matches `items[:at]`, to the end of the log, and return the resulting world.

        Returns None if no world is found before `stop` steps are left."""
        branch = [(start, at, self._list_joint_moves(start, at, items, rng))]
        while branch:
            match, at, moves = branch[-1]
            if at == len(items) and self._seat in match.to_move():
                if match.legal_moves(self._seat) == legal:
                    return match
                branch.pop()
                continue
            joint = next(moves, None)
            if joint is None:
                branch.pop()
                continue
            if self._steps <= stop:
                return None
            self._steps -= 1
            child = match.fork(rng)
            child.apply(joint)
            after = self._match_view(child.view(self._seat), at + (self._seat in joint), items)
            if after:
                branch.append((child, after, self._list_joint_moves(child, after, items, rng)))
        return None

    def _match_view(self, view: str, at: int, items: Sequence[Item]) -> int:
        """Return how many log items match if the seat's next view is this one; 0 if it contradicts the log."""
        if at < len(items) and items[at] == ("saw", view):
            return at + 1
        last = at - 1
        while items[last].kind == "did":
            last -= 1
        return at if items[last].text == view else 0

    def _list_joint_moves(
        self, match: Match, at: int, items: Sequence[Item], rng: random.Random
    ) -> Iterator[dict[int, str]]:
        """Yield joint moves to try: the seat's actual move, with random moves for the others."""
        seats, own = match.to_move(), {}
        if self._seat in seats:
            if at == len(items) or items[at].kind != "did":
                return
            if items[at].text not in (match.legal_moves(self._seat) or ()):
                return
            own = {self._seat: items[at].text}
        others = {seat: match.legal_moves(seat) or [] for seat in seats if seat != self._seat}
        if not seats:
            return
        if len(others) == 1 and not self._game.spec.chance:  # each move once covers all cases
            ((seat, legal),) = others.items()
            for move in rng.sample(legal, len(legal)):
                yield {**own, seat: move}
            return
        for _ in range(TRIES if others or self._game.spec.chance else 1):
            yield {**own, **{seat: legal[int(rng.random() * len(legal))] for seat, legal in others.items()}}
