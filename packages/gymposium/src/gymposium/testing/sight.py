"""What a seat sees of a match, and what all seats see together: for comparing positions."""

from __future__ import annotations

from gymposium.games.protocol import Draws, Match, Style

STYLES: tuple[Style, ...] = ("full", "compact")


def sight(match: Match, seat: int) -> dict[str, object]:
    """Everything that the match shows to the seat, its `view` apart."""
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
    """Everything that there is to see of a position, events apart."""
    shown: dict[str, object] = {"seats to move": match.to_move(), "returns": tuple(match.returns())}
    for seat in range(match.game.seats):
        shown[f"view of seat {seat}"] = match.view(seat)
        shown.update({f"{what} of seat {seat}": value for what, value in sight(match, seat).items()})
    return shown


def difference(one: dict[str, object], other: dict[str, object]) -> str | None:
    """The first thing that is not the same in both, or None."""
    return next((what for what, value in one.items() if value != other[what]), None)
