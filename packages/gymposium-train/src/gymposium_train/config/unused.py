"""Checks for settings without effect. They are rejected, because the user expects an effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium_train.config.defaults import ALL_WEIGHTS, PRETRAINED
from gymposium_train.config.problems import format_value
from gymposium_train.config.root import TrainConfig
from gymposium_train.config.schema import Path, find_node, format_path
from gymposium_train.config.writing import config_to_data


@dataclass(frozen=True, slots=True)
class UseCondition:
    """The condition for some settings to have an effect."""

    settings: tuple[str, ...]
    """Dotted names. The name of a table covers all of its settings."""
    used: Callable[[TrainConfig], bool]
    where: str
    """The condition in words. It completes the sentence "it has an effect only …"."""


USES = (
    UseCondition(("budget",), lambda c: c.steps is None, "without steps"),
    UseCondition(("rollout.sampling",), lambda c: len(c.games) > 1, "with several games"),
    UseCondition(("rollout.decisions",), lambda c: c.rollout.groups is None, "without rollout.groups"),
    UseCondition(("rollout.replace_tied",), lambda c: c.source.kind == "matches", "with source.kind=matches"),
    UseCondition(
        ("overlong.buffer", "overlong.penalty"),
        lambda c: c.overlong.mode == "penalize",
        "with overlong.mode=penalize",
    ),
    UseCondition(("legality",), lambda c: c.prompting.reply == "move", "with prompting.reply=move"),
    UseCondition(
        ("kl.final_share", "kl.estimator", "kl.refresh"), lambda c: c.kl.weight > 0, "with a kl.weight above 0"
    ),
    UseCondition(("kl.refresh_share",), lambda c: c.kl.weight > 0 and c.kl.refresh is not None, "with kl.refresh"),
    UseCondition(
        ("optimizer.final_rate",), lambda c: c.optimizer.schedule != "constant", "without optimizer.schedule=constant"
    ),
    UseCondition(("entropy.final_share",), lambda c: c.entropy.weight > 0, "with an entropy.weight above 0"),
    UseCondition(
        ("optimizer.target_kl",),
        lambda c: c.optimizer.epochs * c.optimizer.minibatches > 1,
        "with more than one of optimizer.epochs or optimizer.minibatches",
    ),
    UseCondition(("model.small",), lambda c: c.model.name is None, "without a model.name, when a small model is made"),
    UseCondition(("model.lora",), lambda c: c.model.tune == "lora", "with model.tune=lora"),
    UseCondition(
        ("engine.arguments", "engine.devices", "engine.servers"),
        lambda c: getattr(c.engine, "url", None) is None,
        "without engine.url, when servers are started for the run",
    ),
    UseCondition(
        ("pool",),
        lambda c: any("past" in stage.opponents for stage in c.stages),
        "if past is among the opponents of a stage",
    ),
    UseCondition(
        ("cold_start.data",),
        lambda c: c.cold_start.is_used or c.sft is not None,
        "with cold_start.epochs, or with cold_start.steps or an sft.weight above 0",
    ),
    UseCondition(("cold_start.records",), lambda c: bool(c.cold_start.data), "with cold_start.data"),
    UseCondition(
        ("cold_start.steps", "cold_start.failed"), lambda c: c.cold_start.epochs is None, "without cold_start.epochs"
    ),
    UseCondition(("cold_start.budget",), lambda c: c.teaches_moves, "with a teacher of moves"),
    UseCondition(
        ("distillation",),
        lambda c: c.has_teacher and c.steps != 0 and (c.source.kind == "matches" or c.teaches_tokens),
        "with a teacher, without steps=0, and with source.kind=matches or a teacher of tokens",
    ),
    UseCondition(
        ("distillation.final_share",), lambda c: c.distillation.weight > 0, "with a distillation.weight above 0"
    ),
    UseCondition(
        ("cold_start.steps",),
        lambda c: not c.teaches_moves or c.cold_start_budget is None or c.cold_start.steps == 0,
        "without a teacher, or with a fixed number of steps and without cold_start.budget",
    ),
    UseCondition(
        ("cold_start.failed", "cold_start.keep", "cold_start.matches"),
        lambda c: not c.teaches_moves,
        "without a teacher",
    ),
    UseCondition(("cold_start.validation",), lambda c: c.cold_start.epochs is not None, "with cold_start.epochs"),
    UseCondition(
        ("cold_start.keep",),
        lambda c: not c.cold_start.data and (c.cold_start.steps > 0 or c.sft is not None),
        "without cold_start.data, and with cold_start.steps or an sft.weight above 0",
    ),
    UseCondition(
        ("cold_start.batch", "cold_start.learning_rate", "cold_start.warmup"),
        lambda c: c.cold_start.is_used or c.control,
        "with cold_start.epochs or with cold_start.steps above 0, or for the control",
    ),
    UseCondition(
        ("samples.groups", "samples.tokens", "samples.prompts"),
        lambda c: c.samples.every > 0,
        "with samples.every above 0",
    ),
    UseCondition(
        ("evaluation.curve_matches", "checkpoints.best"),
        lambda c: c.evaluation.every != 0,
        "without evaluation.every=0",
    ),
)


def find_unused(config: TrainConfig, uses: Sequence[UseCondition] = USES) -> Iterator[str]:
    """Yield a sentence for each setting without effect, unless it has a default value: the small model's, a pretrained
    model's or the backend's."""
    data, of_backend = config_to_data(config), config.backend.other_defaults
    idle = [use for use in uses if not use.used(config)]
    for path, value in _list_values(data):
        name = format_path(path)
        for use in idle:
            about = any(name == setting or name.startswith(f"{setting}.") for setting in use.settings)
            whole = ALL_WEIGHTS if name == "cold_start.learning_rate" else None
            by_default = (
                (find_node(path, data) or {}).get("default"),
                PRETRAINED.get(name),
                of_backend.get(name),
                whole,
            )
            if about and value not in by_default:
                why = f"it has an effect only {use.where}"
                yield f"{name} = {format_value(value)}: {why}. Omit it ({name}=), or change that."


def _list_values(data: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _list_values(value, (*path, name))
        else:
            yield (*path, name), value
