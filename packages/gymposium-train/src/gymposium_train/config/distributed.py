"""The config check for runs with several processes."""

from __future__ import annotations

from gymposium.plugins.host import host
from gymposium_train.config.checks import Rule
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.root import TrainConfig


def check_processes(config: TrainConfig, processes: int) -> None:
    """Raise `BadConfig` if the run cannot be distributed over this many processes."""
    if processes == 1:
        return
    rules = (
        Rule(
            config.backend.kind != "local",
            f"backend.kind = {config.backend.kind}: the model does not learn on this machine, so there is nothing to "
            f"distribute. Start the run in one process.",
        ),
        Rule(
            host().engines[config.engine.kind].shares_learner,
            f"engine.kind = {config.engine.kind}: with several processes, the learner's model is split into parts, so "
            f"it cannot play. Set engine.kind=own for a whole copy in the first process, or vllm.",
        ),
        Rule(
            config.optimizer.layout == "shared",
            "optimizer.layout = shared: all processes must run the model equally often, but with this layout, that "
            "depends on the common prefixes in a process's rows. Set layout=packed, or omit it.",
        ),
        Rule(
            config.model.load == "4bit",
            "model.load = 4bit: quantized weights cannot be split over processes. Omit load, or train in one process.",
        ),
    )
    if problems := [rule.sentence for rule in rules if rule.broken]:
        raise BadConfig(problems)
