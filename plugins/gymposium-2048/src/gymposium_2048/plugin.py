"""The plugin gymposium-2048: the game 2048 and a player for it."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import GameSpec, OpponentSpec, Parameter, hookimpl


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    """Yield the game 2048."""
    yield GameSpec(
        name="2048",
        title="2048",
        summary="Slide numbered tiles together, alone, for the highest score.",
        entry_point="gymposium_2048.game:game",
        family="puzzles",
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


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    """Yield the player of 2048."""
    yield OpponentSpec(
        name="expectimax",
        form="expectimax-D",
        games=("2048",),
        pattern=r"expectimax-(?P<moves>[1-6])",  # a move of expectimax-6 takes a tenth of a second
        summary="2048: search D moves deep, with every new tile between them by its chance; D from 1 to 6.",
        entry_point="gymposium_2048.expectimax:ExpectimaxPlayer",
        placeholders="with D from 1 to 6",
        examples=("expectimax-1",),
        offered=("expectimax-2",),
    )
