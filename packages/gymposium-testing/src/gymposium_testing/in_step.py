"""Compare two games in step, to check that one is a rewording of the other.

Both play the same random matches. At each position, the legal actions, seats to move, returns and chance outcomes must
be equal. Move names and views must correspond one to one. The second game's texts must make every distinction that the
first game's texts make, but none beyond those of the views.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gymposium.games.protocol import CHANCE, Game, Match, Style
from gymposium.util.streams import stream
from gymposium_testing.contract import CheckFailed, describe_position
from gymposium_testing.positions import STYLES


@dataclass(slots=True)
class _Bijection:
    """A relation that must be one to one."""

    forward: dict[Any, Any] = field(default_factory=dict)
    backward: dict[Any, Any] = field(default_factory=dict)

    def add(self, one: Any, other: Any) -> bool:
        """Add a pair, and return whether the relation is still one to one."""
        return bool(self.forward.setdefault(one, other) == other and self.backward.setdefault(other, one) == one)


class GameComparison:
    """A comparison of two games in step. Each call of `play` continues it."""

    def __init__(self, one: Game, other: Game, seed: int = 0) -> None:
        self.one, self.other, self.seed = one, other, seed
        self.positions, self.matches = 0, 0
        self.moves = _Bijection()
        """Corresponding move names in both games."""
        self.views = _Bijection()
        """Corresponding views in both games, as hashes."""
        self._told: dict[Any, int] = {}
        """The first game's text for each text of the second game, as hashes."""
        self._shown: dict[Any, int] = {}
        """The second game's text for each view, as hashes."""

    def play(self, positions: int) -> None:
        """Play random matches, and compare this many more positions. Raises `CheckFailed` at the first difference."""
        most = self.positions + positions
        while self.positions < most:
            rng = stream(self.seed, "in step", self.matches)
            one, other = self.one.new(self.matches), self.other.new(self.matches)
            self.matches += 1
            while self.positions < most:
                self._compare(one, other)
                if not (seats := one.to_move()):
                    break
                chosen = {seat: int(rng.random() * len(one.legal_actions(seat))) for seat in seats}
                for match in (one, other):
                    match.apply({seat: (match.legal_moves(seat) or [])[number] for seat, number in chosen.items()})

    def _compare(self, one: Match, other: Match) -> None:
        self.positions += 1
        seats = one.to_move()
        self._require_equal("seats to move", seats, other.to_move(), other)
        self._require_equal("returns", tuple(one.returns()), tuple(other.returns()), other)
        self._require_equal("outcomes of chance", _list_chance_moves(one), _list_chance_moves(other), other)
        for seat in range(self.one.seats):
            self._require_equal("legal actions", one.legal_actions(seat), other.legal_actions(seat), other)
            for plain, named in zip(one.legal_moves(seat) or (), other.legal_moves(seat) or (), strict=True):
                self._require(self.moves.add(plain, named), f"the move {plain!r} is named {named!r}", other)
            view = hash((seats, one.view(seat)))
            self._require(self.views.add((seat, view), (seat, hash((seats, other.view(seat))))), "views", other)
            for style in STYLES:
                text = hash((seats, _observe(other, seat, style)))
                told = hash((seats, _observe(one, seat, style)))
                whole = self._told.setdefault((seat, style, text), told) == told
                self._require(whole, f"the {style} text of seat {seat} leaves something out", other)
                fair = self._shown.setdefault((seat, style, view), text) == text
                self._require(fair, f"the {style} text of seat {seat} tells more than its view", other)

    def _require_equal(self, what: str, one: object, other: object, match: Match) -> None:
        self._require(one == other, f"{what}: {one!r} and {other!r}", match)

    def _require(self, holds: bool, what: str, match: Match) -> None:
        if not holds:
            raise CheckFailed(
                f"{self.one.name} and {self.other.name} differ: {what}",
                where=describe_position(match),
                fix="make the second game a rewording of the first.",
            )


def _list_chance_moves(match: Match) -> list[str]:
    return [event.move for event in match.events if event.seat == CHANCE]


def _observe(match: Match, seat: int, style: Style) -> tuple[str, tuple[str, ...] | None]:
    seen = match.observe(seat, style)
    return seen.text, None if seen.legal_moves is None else tuple(seen.legal_moves)
