"""All exact figures for a player in a small game."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from gymposium.analysis.exact.outcome import Value
from gymposium.analysis.exact.policy import NoLegalMove, Policy, tabulate_policy
from gymposium.analysis.exact.response import BestResponse, find_best_response, find_response_problem
from gymposium.analysis.exact.value import compute_value
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """Exact figures for a policy."""

    policy: Policy
    against_random: Value
    response: BestResponse | None
    """Best response to the policy; None if it cannot be computed (`find_response_problem`)."""

    @classmethod
    def from_policy(cls, policy: Policy, held_out: Policy | None) -> PolicyFigures:
        """Compute the figures by traversal. `held_out` is as in `best_response`."""
        answerable = find_response_problem(policy, held_out) is None
        return cls(policy, compute_value(policy), find_best_response(policy, held_out) if answerable else None)

    @property
    def exploitability(self) -> float | None:
        """NashConv / 2; None without a best response or if the game is not zero-sum."""
        if self.response is None or self.policy.game.spec.utility != "zero_sum":
            return None
        return self.response.exploitability

    def as_dict(self) -> dict[str, object]:
        """Return the figures as plain data. Best-response figures are keyed by the response's seat."""
        return {
            "against_random": self.against_random.as_dict(),
            "best_response": None if self.response is None else self.response.value.as_dict(),
            "exploitability": self.exploitability,
        }


@dataclass(frozen=True, slots=True)
class PlayerFigures:
    """Exact figures for a player, once with forfeits for illegal replies and once restricted to legal moves."""

    as_played: PolicyFigures
    restricted: PolicyFigures | None
    """None if the player never plays a legal move in some state."""

    def as_dict(self) -> dict[str, object]:
        """Return the figures as plain data, with the number of information states that the player can reach."""
        policy = self.as_played.policy
        return {
            "states": len(policy.table),
            "legal_mass": policy.legal_mass,
            "exact": policy.exact,
            "estimated": policy.estimated,
            "as_played": self.as_played.as_dict(),
            "restricted": None if self.restricted is None else self.restricted.as_dict(),
        }


def measure_player(game: Game, player: Player, seed: int = 0) -> PlayerFigures:
    """Return all exact figures for a player in a game.

    A policy estimated from samples is tabulated twice, with `seed` and `seed + 1`. Raises the same errors as
    `tabulate`."""
    policy = tabulate_policy(game, player, seed=seed)
    held_out = tabulate_policy(game, player, seed=seed + 1) if policy.estimated else None
    restricted = None
    with suppress(NoLegalMove):
        restricted = PolicyFigures.from_policy(policy.restrict(), None if held_out is None else held_out.restrict())
    return PlayerFigures(PolicyFigures.from_policy(policy, held_out), restricted)
