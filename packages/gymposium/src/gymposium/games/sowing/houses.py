"""Names and drawings of two rows of houses.

South's row is at the bottom and is sown from left to right. North's row is at the top and is sown from right to left.
"""

from __future__ import annotations

from collections.abc import Iterator

from gymposium.games.openspiel.boards import list_letters

SEATS = ("South", "North")


def name_houses(houses: int) -> tuple[str, str]:
    """Return the names of South's and North's houses in sowing order: `ABC` and `abc` for three houses each."""
    small = list_letters(houses)
    return small.upper(), small


def make_full_template(houses: int) -> str:
    """Return a format string for the board, with a `%s` for each house's seeds: North's houses from the last to the
    first, then South's."""
    upper, lower = ("".join([f"{name:>3}" for name in row]) for row in _list_rows(houses))
    row = "     " + "%3s" * houses
    return f"North{upper}\n{row}\n{row}\nSouth{lower}"


def make_compact_template(houses: int) -> str:
    """Return the same format string in compact style: `f%s e%s …`, one line per row."""
    return "\n".join([" ".join([f"{name}%s" for name in row]) for row in _list_rows(houses)])


def _list_rows(houses: int) -> Iterator[str]:
    south, north = name_houses(houses)
    yield from (north[::-1], south)
