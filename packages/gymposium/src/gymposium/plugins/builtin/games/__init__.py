"""gymposium's own games, by kind. The code of a kind is in `gymposium.games` under the same name."""

from __future__ import annotations

from gymposium.plugins.builtin.games import (
    cards,
    connection,
    dice,
    hidden_boards,
    lines,
    mixed_motive,
    pieces,
    poker,
    sowing,
    territory,
    tricks,
)
from gymposium.plugins.specs import GameSpec

GAMES: tuple[GameSpec, ...] = (
    *lines.GAMES,
    *territory.GAMES,
    *sowing.GAMES,
    *connection.GAMES,
    *pieces.GAMES,
    *dice.GAMES,
    *poker.GAMES,
    *cards.GAMES,
    *tricks.GAMES,
    *hidden_boards.GAMES,
    *mixed_motive.GAMES,
)
