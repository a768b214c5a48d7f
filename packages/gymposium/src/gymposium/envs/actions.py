"""What an environment may be stepped with."""

from __future__ import annotations

import operator
from typing import Any

from gymnasium.error import InvalidAction

from gymposium.games.protocol import Game
from gymposium.players.protocol import Reply


def as_reply(action: Any, game: Game) -> Reply:
    """The reply that an action is: text, or an index into the game's moves. Raises `InvalidAction`."""
    if isinstance(action, str):
        return Reply(action)
    try:
        index = operator.index(action)
    except TypeError:
        index = -1
    if 0 <= index < game.num_actions:
        return Reply(str(index), action=index)
    wanted = f"text or an index from 0 to {game.num_actions - 1}" if game.num_actions else "text"
    raise InvalidAction(f"{action!r} is not an action of {game.name}: give {wanted}.")
