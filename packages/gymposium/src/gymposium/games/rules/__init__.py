"""Games made from a small rules class.

An author writes `Rules`: pure functions of an immutable position. `make_game_factory` makes the `Game` and its matches
from them. It handles events, the chance stream, records, forks and illegal moves:

    from typing import NamedTuple

    from gymposium.games.rules import make_game_factory

    class Heap(NamedTuple):
        left: int
        turn: int

    class Nim:
        moves = ["take 1", "take 2", "take 3"]
        ...

    game = make_game_factory(Nim)  # the spec's entry_point: "nim:game"

If a method returns a wrong value, a `RulesError` names the method, either when the game is made or in the match that
calls it. A game that does not fit, such as one with too many chance outcomes to list, can implement
`gymposium.games.protocol` directly.
"""

from gymposium.games.protocol import CHANCE, Event, Style
from gymposium.games.rules.factory import make_game_factory
from gymposium.games.rules.game import RulesGame, RulesMatch
from gymposium.games.rules.protocol import (
    HasChance,
    HasMoveForm,
    HasPictures,
    HasResample,
    HasTensor,
    HasView,
    Rules,
    RulesError,
)

__all__ = [
    "CHANCE",
    "Event",
    "HasChance",
    "HasMoveForm",
    "HasPictures",
    "HasResample",
    "HasTensor",
    "HasView",
    "Rules",
    "RulesError",
    "RulesGame",
    "RulesMatch",
    "Style",
    "make_game_factory",
]
