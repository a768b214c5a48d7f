"""The cast: what a plan needs of whoever holds the weights."""

from __future__ import annotations

from typing import Protocol

from gymposium.players.protocol import Player
from gymposium_agents.tokens import Policy


class PlayerSource(Protocol):
    """The policy that learns, as a player: as it is now, and as it was."""

    def learner(self) -> Player:
        """Plays by the newest weights that are published, and samples."""
        ...

    def past(self, policy: Policy) -> Player:
        """Plays by weights that were kept, and samples as the learner does."""
        ...

    def keep(self) -> Policy:
        """Keep the weights that the learner plays by now. They can be played by until they are let go, in a resumed run
        too. Where they are kept already, nothing is done."""
        ...

    def let_go(self, policy: Policy) -> None:
        """Nobody is to play by these any more. Checkpoints may still name them, so what lies on disk stays as long as
        one does."""
        ...
