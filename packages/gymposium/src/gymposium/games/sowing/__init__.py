"""Sowing games (the mancala family). `GAMES` lists their specs."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec, Parameter

GAMES = (
    GameSpec(
        name="oware",
        title="Oware",
        summary="Sow seeds around the board; capture twos and threes on the opponent's side.",
        entry_point="gymposium.games.sowing.oware:game",
        seat_names=("South", "North"),
        best_play=(
            "A draw with 4 seeds in each house (Romein and Bal, 2003, Solving Awari with Parallel Retrograde "
            "Analysis). Its rule for repeated positions differs from the one used here."
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
        summary="Kalah: sow seeds around the board into your store, earn extra moves and capture opposite houses.",
        entry_point="gymposium.games.sowing.mancala:game",
        seat_names=("South", "North"),
        best_play=(
            "With 4 stones in each of 6 pits the first player wins (Irving, Donkers and Uiterwijk, 2000, Solving "
            "Kalah)."
        ),
    ),
)
