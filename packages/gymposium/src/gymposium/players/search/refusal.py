"""What search refuses to play, and why."""

from __future__ import annotations

from gymposium.errors import NoSampler
from gymposium.games.protocol import Game


def refuse(game: Game, player: str) -> None:
    """Raises `NoSampler` with the reason where search would only play badly."""
    if game.num_actions == 0:
        reason = "it takes free text, so there are no moves to search"
    elif game.spec.unsearchable:
        reason = game.spec.unsearchable
    else:
        return
    raise NoSampler(f"{player} does not play {game.name}: {reason}. Use the random player instead.")
