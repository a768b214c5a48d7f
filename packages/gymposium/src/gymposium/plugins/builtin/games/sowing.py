"""Sowing games."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="oware",
        title="Oware",
        summary="Sow seeds round the board; twos and threes on the other side are captured.",
        entry_point="gymposium.games.sowing.oware:game",
        seat_names=("South", "North"),
        best_play=(
            "With 4 seeds in a house a draw (Romein and Bal, 2003, Solving Awari with Parallel Retrograde Analysis), "
            "with a rule for repeated positions that differs from the one here."
        ),
        parameters=(
            Parameter(name="num_houses_per_player", default=6, low=2, high=6, help="Houses of each player."),
            Parameter(name="num_seeds_per_house", default=4, low=1, high=6, help="Seeds in each house at the start."),
        ),
        examples=({}, {"num_seeds_per_house": 3}, {"num_seeds_per_house": 5}),
    ),
    GameSpec(
        name="mancala",
        title="Mancala",
        summary="Kalah: sow seeds round the board into your store, move again, capture what faces you.",
        entry_point="gymposium.games.sowing.mancala:game",
        seat_names=("South", "North"),
        best_play=(
            "With 4 stones in each of 6 pits the first player wins (Irving, Donkers and Uiterwijk, 2000, Solving "
            "Kalah)."
        ),
    ),
)
