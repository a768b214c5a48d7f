"""Two rows of houses: their names, and how they are drawn. South's row is below and sown from left to right, North's
above and sown from right to left."""

from __future__ import annotations

from collections.abc import Iterator

from gymposium.games.openspiel.boards import letters

SEATS = ("South", "North")


def house_names(houses: int) -> tuple[str, str]:
    """`ABC` and `abc` for three houses each, in the order in which they are sown."""
    small = letters(houses)
    return small.upper(), small


def full_drawing(houses: int) -> str:
    """The board with a `%s` for the seeds of each house: North's, the last first, and then South's."""
    upper, lower = ("".join([f"{name:>3}" for name in row]) for row in _rows(houses))
    row = "     " + "%3s" * houses
    return f"North{upper}\n{row}\n{row}\nSouth{lower}"


def compact_drawing(houses: int) -> str:
    """The same as `f%s e%s …`, a line for each row."""
    return "\n".join([" ".join([f"{name}%s" for name in row]) for row in _rows(houses)])


def _rows(houses: int) -> Iterator[str]:
    south, north = house_names(houses)
    yield from (north[::-1], south)
