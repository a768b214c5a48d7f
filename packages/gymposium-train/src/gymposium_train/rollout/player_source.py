"""The protocol of the players that a plan needs: the policy as it is now, and its past versions."""

from __future__ import annotations

from typing import Protocol

from gymposium.players.protocol import Player
from gymposium_agents.tokens import Policy


class PlayerSource(Protocol):
    """Makes players of the policy that learns: of its newest version, and of versions that were kept."""

    def learner(self) -> Player:
        """A player of the newest published weights. It samples."""
        ...

    def past(self, policy: Policy) -> Player:
        """A player of a kept version. It samples as the learner does."""
        ...

    def keep(self) -> Policy:
        """Keep the weights that the learner plays by now. They can be played by until they are let go, in a resumed run
        too. Where they are kept already, nothing is done."""
        ...

    def let_go(self, policy: Policy) -> None:
        """Nobody is to play by these any more. Checkpoints may still name them, so what lies on disk stays as long as
        one does."""
        ...
