"""The specs of this distribution: the disguises of games."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gymposium import DisguiseSpec, hookimpl
from gymposium_disguises import DISGUISES

_SMALL: Mapping[str, Mapping[str, Any]] = {
    "amazons": {"board_size": 6},
    "bargaining": {"max_turns": 6},
    "breakthrough": {"rows": 5, "columns": 5},
    "clobber": {"rows": 3, "columns": 4},
    "connect_four": {"rows": 5, "columns": 4, "x_in_row": 3},
    "dots_and_boxes": {"num_rows": 2, "num_cols": 2},
    "go": {"board_size": 4},
    "gomoku": {"size": 5, "connect": 4},
    "goofspiel": {"num_cards": 5},
    "havannah": {"board_size": 3},
    "hex": {"board_size": 4},
    "lines_of_action": {"max_game_length": 40},
    "oware": {"num_seeds_per_house": 3},
    "pig": {"winscore": 20, "horizon": 30},
    "y": {"board_size": 5},
}
"""Additional parameters that keep a game's example small."""


@hookimpl
def gymposium_disguises() -> Iterable[DisguiseSpec]:
    for game in DISGUISES:
        yield DisguiseSpec(
            name=game,
            summary=f"{game} in other words, with other names of moves and another layout.",
            entry_point="gymposium_disguises.disguise:disguise_game",
            example=_SMALL.get(game, {}),
        )
