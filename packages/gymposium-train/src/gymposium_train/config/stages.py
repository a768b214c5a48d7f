"""Checks of a curriculum's stages, and the names of opponents that are not separate players."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium_train.config.play import Stage

SELF = "self"
"""Name of the opponent that is the current policy."""
PAST = "past"
"""Name of the opponent that is a past version of the policy."""
ALONE = "alone"
"""Name used in place of an opponent in a single-player game."""


def check_stages(stages: Sequence[Stage], games: Sequence[Game]) -> None:
    """Raise `BadOption` with the reason if the stages contradict each other or do not suit these games."""
    shared = [game for game in games if game.seats > 1]
    if not shared and (len(stages) > 1 or stages[0] != Stage()):
        raise BadOption("stages: these are single-player games without opponents. Omit it.")
    for number, stage in enumerate(stages):
        _check_stage(f"stages[{number}]", stage, first=number == 0, last=number == len(stages) - 1)
    unscored = next((game for game in shared if not is_scorable(game)), None)
    if unscored is not None and (len(stages) > 1 or any(PAST in stage.opponents for stage in stages)):
        raise BadOption(
            f"stages: {unscored.name} is cooperative with unbounded returns, so no score can end a stage or rate a "
            f"past version. Use one stage without {PAST!r}."
        )


def _check_stage(where: str, stage: Stage, *, first: bool, last: bool) -> None:
    if ALONE in stage.opponents:
        raise BadOption(f"{where}.opponents: {ALONE!r} is not an opponent. Single-player games need none. Omit it.")
    if stage.opponents.keys() == {SELF} and (not last or stage.demote):
        raise BadOption(
            f"{where} has no opponent except {SELF!r}. Self-play always averages a score of 0.5, so the stage would "
            f"never end. Add another opponent, or make it the last stage with demote 0."
        )
    if first and stage.demote:
        raise BadOption(f"{where}.demote: there is no stage before the first. Set it to 0.")
    if stage.demote >= stage.promote:
        raise BadOption(
            f"{where}.demote is {stage.demote:g}, but must be below promote ({stage.promote:g}), or the stages would "
            f"alternate. Lower it."
        )


def is_scorable(game: Game) -> bool:
    """Return True if a match of the game can be scored (`gymposium.match.score`). Returns False if a match is measured
    only by its return and the return is unbounded."""
    return (game.seats > 1 and game.spec.utility != "cooperative") or all(map(math.isfinite, game.utility_range))
