"""Positions: everything that seats see of one, and games whose matches begin at one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymposium.games.protocol import Draws, Event, Game, Match, Style

STYLES: tuple[Style, ...] = ("full", "compact")


def sight(match: Match, seat: int) -> dict[str, object]:
    """Return everything that the match shows to the seat except its `view`."""
    shown: dict[str, object] = {}
    for style in STYLES:
        observation = match.observe(seat, style)
        shown[f"{style} text"] = observation.text
        shown[f"{style} legal moves"] = observation.legal_moves
    shown["legal moves"] = match.legal_moves(seat)
    shown["legal actions"] = match.legal_actions(seat)
    if match.game.tensor_shape is not None:
        shown["tensor"] = match.tensor(seat).tobytes()
    if isinstance(match, Draws):
        shown["picture"] = match.render_html(seat)
    return shown


def position(match: Match) -> dict[str, object]:
    """Return everything that can be observed of a position except its events."""
    shown: dict[str, object] = {"seats to move": match.to_move(), "returns": tuple(match.returns())}
    for seat in range(match.game.seats):
        shown[f"view of seat {seat}"] = match.view(seat)
        shown.update({f"{what} of seat {seat}": value for what, value in sight(match, seat).items()})
    return shown


def difference(one: dict[str, object], other: dict[str, object]) -> str | None:
    """Return the name of the first entry that differs, or None."""
    return next((what for what, value in one.items() if value != other[what]), None)


class GameAtPosition:
    """A game whose every new match begins at the position that some events lead to.

    Environments can only start matches; with this game they show any position."""

    def __init__(self, game: Game, events: Sequence[Event]) -> None:
        self._game, self._events = game, events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> GameAtPosition:
        return self

    def new(self, seed: int) -> Match:
        return self._game.load(self._events, seed)


def standing_at(game: Game, events: Sequence[Event]) -> Game:
    """Return the game with every new match at the position that these events lead to."""
    game_there: Any = GameAtPosition(game, events)  # has all attributes of the game, which a type checker cannot see
    result: Game = game_there
    return result
