"""A game from one small class of rules.

An author writes `Rules`: pure functions of a position that never changes. `game_of` makes the `Game` and its
matches out of it, which is all the bookkeeping (events, chance and its stream, records, forks, what is refused):

    from typing import NamedTuple

    from gymposium.games.rules import game_of

    class Heap(NamedTuple):
        left: int
        turn: int

    class Nim:
        moves = ["take 1", "take 2", "take 3"]
        ...

    game = game_of(Nim)  # the spec's entry_point: "nim:game"

What a method of the class answers wrongly is a `RulesError` that names it: at once where the game is made, else in
the match that met it. A game that does not fit in here (its chance has too many outcomes to list, say) implements
the protocol in `gymposium.games.protocol` itself.
"""

from gymposium.games.protocol import CHANCE, Event, Style
from gymposium.games.rules.checks import RulesError
from gymposium.games.rules.factory import game_of
from gymposium.games.rules.game import RulesGame, RulesMatch
from gymposium.games.rules.protocol import HasChance, HasPictures, HasResample, HasTensor, HasView, Rules

__all__ = [
    "CHANCE",
    "Event",
    "HasChance",
    "HasPictures",
    "HasResample",
    "HasTensor",
    "HasView",
    "Rules",
    "RulesError",
    "RulesGame",
    "RulesMatch",
    "Style",
    "game_of",
]
