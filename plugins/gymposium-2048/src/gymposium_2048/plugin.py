"""What gymposium-2048 adds: one game."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import GameSpec, Parameter, hookimpl


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    """The game of 2048."""
    yield GameSpec(
        name="2048",
        title="2048",
        summary="Slide numbered tiles together, alone, for the highest score.",
        entry_point="gymposium_2048.game:game",
        seats=1,
        parameters=(
            Parameter(
                name="max_tile",
                default=2048,
                choices=tuple(2**power for power in range(3, 18)),
                help="The tile that ends the game when it is made.",
            ),
        ),
        examples=({}, {"max_tile": 16}),
        chance=True,
        utility="score",
    )
