"""Fixed near-equilibrium tables for judging matches and correcting luck."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache

from gymposium.analysis.exact.equilibrium import require_solvable
from gymposium.analysis.exact.graph import build_graph
from gymposium.analysis.exact.players import CfrPlayer
from gymposium.analysis.exact.policy import Policy, tabulate_policy
from gymposium.analysis.exact.size import MOST_UNASKED
from gymposium.games.protocol import Game

ITERATIONS, FEWER_ITERATIONS = 1000, 100
"""CFR+ iterations in games with up to `MOST_UNASKED` positions, and in larger games. Both take seconds."""


@dataclass(frozen=True, slots=True)
class FixedTable:
    """The `cfr-N` policy in both seats of a game."""

    policy: Policy
    digest: str
    """`sha256:` plus the digest of the moves and their probabilities, rounded to six digits."""

    @property
    def name(self) -> str:
        """`cfr-N`."""
        return self.policy.player


@lru_cache(maxsize=4)
def compute_fixed_table(game: Game, iterations: int | None = None) -> FixedTable:
    """Return the table for a game, by default with `ITERATIONS` or `FEWER_ITERATIONS`.

    Raises `TooLarge` with the reason if the game is too large or of an unsupported kind."""
    graph = build_graph(require_solvable(game))
    few = len(graph.positions) <= MOST_UNASKED
    policy = tabulate_policy(game, CfrPlayer(iterations or (ITERATIONS if few else FEWER_ITERATIONS)))
    rows = sorted(
        (seat, view, found.moves, [round(p, 6) for p in found.probabilities])
        for (seat, view), found in policy.table.items()
    )
    return FixedTable(policy, f"sha256:{hashlib.sha256(json.dumps(rows).encode()).hexdigest()}")
