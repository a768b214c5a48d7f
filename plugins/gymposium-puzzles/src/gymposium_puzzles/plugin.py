"""The plugin gymposium-puzzles: puzzles with one seat, and the player `solver`."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import GameSpec, OpponentSpec, hookimpl
from gymposium_puzzles import deduction, logic, planning


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    """Yield the puzzles."""
    for group in (deduction, logic, planning):
        yield from group.GAMES


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    """Yield the solver."""
    games = tuple(spec.name for spec in gymposium_games())
    yield OpponentSpec(
        name="solver",
        form="solver",
        games=games,
        pattern="solver",
        summary="Each puzzle of gymposium-puzzles: its solver, which knows what the seat knows.",
        entry_point="gymposium_puzzles.solver:Solver",
        examples=("solver",),
        offered=("solver",),
    )
