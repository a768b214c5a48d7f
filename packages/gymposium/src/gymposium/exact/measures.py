"""All exact figures of a player in a small game."""

from __future__ import annotations

from dataclasses import dataclass

from gymposium.exact.outcome import Value
from gymposium.exact.policy import NoLegalMove, Policy, tabulate
from gymposium.exact.response import BestResponse, best_response, unanswerable
from gymposium.exact.value import value
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player


@dataclass(frozen=True, slots=True)
class Figures:
    """What a policy is worth."""

    policy: Policy
    against_random: Value
    response: BestResponse | None
    """None where there is none to be found: something is hidden and replies are not always legal moves."""

    @classmethod
    def of(cls, policy: Policy, held_out: Policy | None) -> Figures:
        """By traversal; `held_out` as in `best_response`."""
        answerable = unanswerable(policy, held_out) is None
        return cls(policy, value(policy), best_response(policy, held_out) if answerable else None)

    @property
    def exploitability(self) -> float | None:
        """NashConv / 2; None where no best response is known or the game is not zero-sum."""
        if self.response is None or self.policy.game.spec.utility != "zero_sum":
            return None
        return self.response.exploitability

    def as_dict(self) -> dict[str, object]:
        """Everything as plain data; a best response by the seat that it takes."""
        return {
            "against_random": self.against_random.as_dict(),
            "best_response": None if self.response is None else self.response.value.as_dict(),
            "exploitability": self.exploitability,
        }


@dataclass(frozen=True, slots=True)
class Measures:
    """The figures of a player as it plays, its illegal replies forfeits, and those of its legal moves alone."""

    as_played: Figures
    restricted: Figures | None
    """None where there is a state in which it never plays a legal move."""

    def as_dict(self) -> dict[str, object]:
        """Everything as plain data, with the number of information states that the player can get into."""
        policy = self.as_played.policy
        return {
            "states": len(policy.table),
            "legal_mass": policy.legal_mass,
            "exact": policy.exact,
            "estimated": policy.estimated,
            "as_played": self.as_played.as_dict(),
            "restricted": None if self.restricted is None else self.restricted.as_dict(),
        }


def measure(game: Game, player: Player, seed: int = 0) -> Measures:
    """All figures of a player in a game. One that has to be estimated is asked twice, with `seed` and the next.

    Raises as `tabulate`."""
    policy = tabulate(game, player, seed=seed)
    held_out = tabulate(game, player, seed=seed + 1) if policy.estimated else None
    try:
        alone = Figures.of(policy.restricted(), None if held_out is None else held_out.restricted())
    except NoLegalMove:
        alone = None
    return Measures(Figures.of(policy, held_out), alone)
