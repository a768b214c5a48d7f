"""Positions: everything that seats see there, snapshots for comparison, and games that begin at a position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.games.protocol import Event, Game, Match, Style
from gymposium.replies.prompt import Prompt
from gymposium_testing.contract import CheckFailed, after, events_in_words, unlike

PICTURE = "picture"
"""The picture's key among what a match shows."""
STYLES: tuple[Style, ...] = ("full", "compact")


def sight(match: Match, seat: int, prompts: Mapping[Style, Prompt] | None = None) -> dict[str, object]:
    """Return everything that the match shows to the seat except its `view`, as texts or as these prompts."""
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
    picture = getattr(match, "picture", None)  # of `Draws`; an isinstance check per position would take longer
    if picture is not None:
        shown[PICTURE] = picture(seat)
    return shown


def position(match: Match) -> dict[str, object]:
    """Return everything observable about a position except its events."""
    shown: dict[str, object] = {"seats to move": match.to_move(), "returns": tuple(match.returns())}
    for seat in range(match.game.seats):
        shown[f"view of seat {seat}"] = match.view(seat)
        shown.update({f"{what} of seat {seat}": value for what, value in sight(match, seat).items()})
    return shown


def difference(one: dict[str, object], other: dict[str, object]) -> str | None:
    """Return the name of the first entry that differs, or None."""
    return next((what for what, value in one.items() if value != other[what]), None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A match at one moment: its events and everything observable about its position."""

    events: list[Event]
    position: dict[str, object]

    @classmethod
    def from_match(cls, match: Match) -> Snapshot:
        """Take a snapshot of a match."""
        return cls(list(match.events), position(match))

    def compare(self, match: Match, what: str, *, do: str, where: str = "") -> None:
        """Raise `CheckFailed` if `match` differs. The message begins with `what`."""
        change = self.change(match)
        if change is not None:
            raise CheckFailed(f"{what}: {change}.", where=where or after(match), do=do)

    def change(self, match: Match) -> str | None:
        """Return the first difference in `match`, in words, or None: `returns: (0, 0) instead of (1, 0)`.

        Events are compared first."""
        events = list(match.events)
        if events != self.events:
            return f"events: {events_in_words(events)} instead of {events_in_words(self.events)}"
        now = position(match)
        what = difference(self.position, now)
        return None if what is None else f"{what}: {' instead of '.join(unlike(now[what], self.position[what]))}"


class GameAtPosition:
    """A game whose every new match begins at the position after some events.

    Environments can only start matches; with this game they show any position. It has all attributes of the game, which
    a type checker cannot see: cast it to `Game`."""

    def __init__(self, game: Game, events: Sequence[Event]) -> None:
        self._game, self._events = game, events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> GameAtPosition:
        return self

    def new(self, seed: int) -> Match:
        return self._game.load(self._events, seed)
