"""Checks of a curriculum's stages, and the names of opponents that are not players of their own."""

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
"""Name in place of an opponent in a game with one seat."""


def check_stages(stages: Sequence[Stage], games: Sequence[Game]) -> None:
    """Raise `BadOption` with the reason if the stages contradict each other or do not suit these games."""
    shared = [game for game in games if game.seats > 1]
    if not shared and (len(stages) > 1 or stages[0] != Stage()):
        raise BadOption("stages: in these games the learner plays alone and has no opponents. Leave this out.")
    for number, stage in enumerate(stages):
        _check_stage(f"stages[{number}]", stage, first=number == 0, last=number == len(stages) - 1)
    unscored = next((game for game in shared if not has_score(game)), None)
    if unscored is not None and (len(stages) > 1 or any(PAST in stage.opponents for stage in stages)):
        raise BadOption(
            f"stages: {unscored.name} is cooperative and its returns are unbounded, so there is no score for the "
            f"end of a stage or for the strength of a past version. Use one stage without {PAST!r}."
        )


def _check_stage(where: str, stage: Stage, *, first: bool, last: bool) -> None:
    if ALONE in stage.opponents:
        raise BadOption(f"{where}.opponents: {ALONE!r} is no opponent. Games with one seat need none.")
    if stage.opponents.keys() == {SELF} and (not last or stage.demote):
        raise BadOption(
            f"{where} has no opponent but {SELF!r}, and against itself the policy scores a half however good it is, so "
            "the stage would never end. Add an opponent to measure it by, or let it be the last stage and demote 0."
        )
    if first and stage.demote:
        raise BadOption(f"{where}.demote: there is no stage before the first. Let it be 0.")
    if stage.demote >= stage.promote:
        raise BadOption(
            f"{where}.demote is {stage.demote:g}, which is not below promote, {stage.promote:g}: the stages would take "
            "turns. Lower it."
        )


def has_score(game: Game) -> bool:
    """True if a match of the game can be scored (`gymposium.match.score`). It cannot if the return is the only measure
    of a match and is unbounded."""
    return (game.seats > 1 and game.spec.utility != "cooperative") or all(map(math.isfinite, game.utility_range))
