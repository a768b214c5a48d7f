"""Observe and compare positions, and start games at a position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.games.protocol import Event, Game, Match, Style
from gymposium.replies.prompt import Prompt
from gymposium_testing.contract import CheckFailed, cut_to_difference, describe_position, format_events

PICTURE = "picture"
"""Key of the picture in the result of `observe_all`."""
STYLES: tuple[Style, ...] = ("full", "compact")


def observe_all(match: Match, seat: int, prompts: Mapping[Style, Prompt] | None = None) -> dict[str, object]:
    """Return everything that a match shows a seat except its `view`. Texts are replaced by prompts if given."""
    shown: dict[str, object] = {}
    for style in STYLES:
        observation = match.observe(seat, style)
        if prompts is None:
            shown[f"{style} text"] = observation.text
        else:
            shown[f"{style} prompt"] = prompts[style](observation)
        shown[f"{style} legal moves"] = observation.legal_moves
    shown["legal moves"] = match.legal_moves(seat)
    shown["legal actions"] = match.legal_actions(seat)
    if match.game.tensor_shape is not None:
        shown["tensor"] = match.tensor(seat).tobytes()
    picture = getattr(match, "draw_picture", None)  # of `Draws`; faster than an isinstance check
    if picture is not None:
        shown[PICTURE] = picture(seat)
    return shown


def observe_position(match: Match) -> dict[str, object]:
    """Return everything that can be observed at a position, except its events."""
    shown: dict[str, object] = {"seats to move": match.to_move(), "returns": tuple(match.returns())}
    for seat in range(match.game.seats):
        shown[f"view of seat {seat}"] = match.view(seat)
        shown.update({f"{what} of seat {seat}": value for what, value in observe_all(match, seat).items()})
    return shown


def find_difference(one: dict[str, object], other: dict[str, object]) -> str | None:
    """Return the key of the first differing value, or None."""
    return next((what for what, value in one.items() if value != other[what]), None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A match's events and everything that can be observed at its position."""

    events: list[Event]
    position: dict[str, object]

    @classmethod
    def from_match(cls, match: Match) -> Snapshot:
        """Take a snapshot of a match."""
        return cls(list(match.events), observe_position(match))

    def compare(self, match: Match, what: str, *, fix: str, where: str = "") -> None:
        """Raise `CheckFailed`, with a message that begins with `what`, if `match` differs."""
        change = self.find_change(match)
        if change is not None:
            raise CheckFailed(f"{what}: {change}.", where=where or describe_position(match), fix=fix)

    def find_change(self, match: Match) -> str | None:
        """Describe the first difference from `match`, or return None: `returns: (0, 0) instead of (1, 0)`.

        Events are compared first."""
        events = list(match.events)
        if events != self.events:
            return f"events: {format_events(events)} instead of {format_events(self.events)}"
        now = observe_position(match)
        what = find_difference(self.position, now)
        return (
            None
            if what is None
            else f"{what}: {' instead of '.join(cut_to_difference(now[what], self.position[what]))}"
        )


class GameAtPosition:
    """A game whose matches begin at the position after some events, so environments can show any position.

    It has all attributes of the game, but type checkers do not know this, so cast it to `Game`."""

    def __init__(self, game: Game, events: Sequence[Event]) -> None:
        self._game, self._events = game, events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> GameAtPosition:
        return self

    def new(self, seed: int) -> Match:
        return self._game.load(self._events, seed)
