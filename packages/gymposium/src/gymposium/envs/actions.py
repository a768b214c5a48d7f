"""What an environment may be stepped with."""

from __future__ import annotations

from typing import Any

from gymnasium.error import InvalidAction

from gymposium.errors import WrongType
from gymposium.games.protocol import Game
from gymposium.players.protocol import Reply
from gymposium.table import reply_of


def as_reply(action: Any, game: Game) -> Reply:
    """The reply that an action means, as `gymposium.table.reply_of`. Raises `InvalidAction`."""
    if isinstance(action, str):
        return Reply(action)
    try:
        return reply_of(action, game)
    except WrongType as error:
        raise InvalidAction(str(error)) from None
