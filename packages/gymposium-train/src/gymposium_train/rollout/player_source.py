"""The protocol of the players that a plan needs: of the current policy, and of its past versions."""

from __future__ import annotations

from typing import Protocol

from gymposium.players.protocol import Player
from gymposium_agents.tokens import Policy


class PlayerSource(Protocol):
    """Makes players of the policy that learns: of its newest published version, and of kept versions."""

    def learner(self) -> Player:
        """A player of the newest published version, which samples its replies."""
        ...

    def past(self, policy: Policy) -> Player:
        """A player of a kept version, which samples its replies like the learner."""
        ...

    def keep(self) -> Policy:
        """Keep the newest published version, so that `past` can make players of it until it is let go, also in a
        resumed run. Nothing is done if it is kept already."""
        ...

    def let_go(self, policy: Policy) -> None:
        """Release a kept version, of which no more players are made. Its files stay, because checkpoints may name
        it."""
        ...
