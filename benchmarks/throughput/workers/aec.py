"""Matches of PettingZoo's AEC environments, which have actions by index and a mask of the legal ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from benchmarks.throughput.workers.serving import MatchToReplay, Table

Mask = Callable[[Any, dict[str, Any]], Any]
"""The mask, from an observation and its info."""


def aec_table(env: Any, mask: Mask, chance: bool, note: str = "") -> Table:
    """`chance`: whether the game has any. Then a match is begun from its seed, which is not free."""

    def keep(seed: int, rng: random.Random) -> MatchToReplay:
        env.reset(seed=seed)
        actions, finished = [], True
        for _ in env.agent_iter():
            observation, _, terminated, truncated, info = env.last()
            if terminated or truncated:
                finished = finished and terminated
                env.step(None)
                continue
            legal = [action for action, allowed in enumerate(mask(observation, info)) if allowed]
            actions.append(rng.choice(legal))
            env.step(actions[-1])
        return MatchToReplay(seed, actions, finished)

    def play(kept: MatchToReplay) -> None:
        if chance:
            env.reset(seed=kept.seed)
        else:
            env.reset()
        for action in kept.actions:
            env.last()
            env.step(action)
        while env.agents:
            _, _, terminated, truncated, _ = env.last()
            if not (terminated or truncated):
                raise RuntimeError("A match that was kept goes on where it had ended: it does not follow its seed.")
            env.step(None)

    return Table(keep, play, note)
