"""64 matches of tic-tac-toe at once against random play, through driver, player and engine: what is not the model's.

The model's part is its forward passes and the sampling from its logits. The rest is everything else: driver, game,
prompts and their tokens, random opponents, the reading of replies, and in the engine the planning, padding and copying
of batches. Weights are random, so a random legal move is played for a reply that cannot be read, and replies have two
tokens: a move and its end, as a trained model's have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from gymposium import load_game, make_player
from gymposium.match import play
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import plan_jobs
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import Completion, Sampling, TokenRequest
from gymposium_agents.engines import transformers as engine_module
from gymposium_agents.engines.transformers import TransformersEngine, unwrap_peft
from gymposium_agents.models.loading import load_model
from gymposium_agents.models.small import make_small_model
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config import TrainConfig

AT_ONCE = 64
CONFIG = TrainConfig(games=("tic_tac_toe",))


@dataclass(slots=True)
class Clock:
    """CPU seconds inside what is timed."""

    seconds: float = 0.0
    started: float = 0.0

    def start(self, *ignored: Any) -> None:
        self.started = time.process_time()

    def stop(self, *ignored: Any) -> None:
        self.seconds += time.process_time() - self.started

    def timing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any) -> Any:
            self.start()
            result = function(*given)
            self.stop()
            return result

        return timed


class TimedEngine:
    """An engine, and the CPU time that it takes."""

    def __init__(self, engine: TransformersEngine) -> None:
        self.policy, self.context, self.score = engine.policy, engine.context, engine.score
        self.clock = Clock()
        self.generate: Callable[[Sequence[TokenRequest], Sampling], list[Completion]]
        self.generate = self.clock.timing(engine.generate)


@contextmanager
def model_time(model: Any) -> Iterator[Clock]:
    """Time the forward passes of `model` and the sampling from logits."""
    clock, choose = Clock(), engine_module.sample_tokens
    hooks = [model.register_forward_pre_hook(clock.start), model.register_forward_hook(clock.stop)]
    engine_module.sample_tokens = clock.timing(choose)
    try:
        yield clock
    finally:
        engine_module.sample_tokens = choose
        for hook in hooks:
            hook.remove()


def outside(directory: Path, size: SmallModel, texts: list[str], matches: int, repeats: int) -> dict[str, Any]:
    """Return how much of the CPU time of `matches` is not the model's, for a model of this size made in `directory`."""
    make_small_model(directory, texts, seed=CONFIG.seed, size=size)
    loaded = load_model(directory)
    loaded_engine = loaded.engine()
    player = LanguageModelPlayer(
        "model",
        loaded_engine,
        loaded.chat,
        sampling=Sampling(1.0, 2),
        style=CONFIG.prompting.style,
        reply=CONFIG.prompting.reply,
    )
    game, opponent = load_game(next(iter(CONFIG.games))), make_player("random")
    shares, per_turn, engines = [], [], []
    for repeat in range(-1, repeats):
        jobs = plan_jobs(
            game,
            [player, opponent],
            matches,
            seed=repeat,
            swap=True,
            tag="engines",
            on_illegal=FailurePolicy.parse("random"),
        )
        engine = player.engine = TimedEngine(loaded_engine)
        with model_time(unwrap_peft(loaded.model)) as clock:
            start = time.process_time()
            turns = [turn for played in play((job for job, _ in jobs), at_once=AT_ONCE) for turn in played.turns]
            spent = time.process_time() - start
        if repeat >= 0:  # the first warms up
            shares.append(1.0 - clock.seconds / spent)
            count = sum(turn.trace is not None for turn in turns)
            per_turn.append((spent - clock.seconds) / count)
            engines.append((engine.clock.seconds - clock.seconds) / count)
    return {
        "parameters": sum(p.numel() for p in loaded.model.parameters()),
        "outside_the_model": [round(one, 3) for one in (median(shares), min(shares), max(shares))],
        "microseconds_a_turn_outside": round(1e6 * median(per_turn)),
        "of_them_in_the_engine": round(1e6 * median(engines)),
    }
