"""The control: what the same CPU time does when it is spent on more SFT, from the same cold start.

Fresh random games, winners' moves, the whole model, one cosine over the budget. It runs behind the
reinforcement learning, when its budget is known to the second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from gymposium.driver import Played
from gymposium.games.registry import load_game
from gymposium.reading import reader
from gymposium.streams import stream
from gymposium_agents.loading import LoadedModel
from gymposium_train.cold_start import Pair, imitate, random_games, tokenized, winners_moves
from gymposium_train.config import TrainConfig
from gymposium_train.learner import Learner

GAMES = 1_000
"""Fresh games in a lot."""
STEPS = 8
"""SFT steps on each lot."""


def run_control(
    loaded: LoadedModel, config: TrainConfig, budget: float, each: Callable[[Played], object]
) -> Iterator[dict[str, Any]]:
    """Train `loaded` for `budget` CPU seconds, games included, and at least one step. Yields each step's
    metrics, with the share of the budget that is spent; `each` is called with every random match."""
    learner = Learner(loaded.model.train(), loaded.pad, token_budget=config.token_budget)
    started = time.process_time()

    def spent() -> float:
        return time.process_time() - started

    batches = _fresh_batches(config, loaded, each)
    for metrics in imitate(
        learner, batches, config.cold_start, progress=lambda step: spent() / budget if step else 0.0
    ):
        yield {**metrics, "cpu_seconds": spent()}


def _fresh_batches(config: TrainConfig, loaded: LoadedModel, each: Callable[[Played], object]) -> Iterator[list[Pair]]:
    """Batches from lot after lot of random games."""
    game, how = load_game(config.game), reader(config.reply)
    lot = 0
    while True:
        finished = random_games(
            game, config.prompt, how, matches=GAMES, seed=config.seed, tag=f"control-{lot}", each=each
        )
        pairs = tokenized(winners_moves(finished), loaded.chat)
        for step in range(STEPS):
            yield stream(config.seed, "control", lot, step).choices(pairs, k=config.cold_start.batch)
        lot += 1
