"""Settings that would do nothing: whoever set one believed that it would, so it is refused rather than passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gymposium_train.config.problems import shown
from gymposium_train.config.schema import Path, dotted, settings
from gymposium_train.config.whole import TrainConfig


@dataclass(frozen=True, slots=True)
class Use:
    """What some settings are for."""

    settings: tuple[str, ...]
    """Their dotted names; of a table, all that stands in it."""
    used: Callable[[TrainConfig], bool]
    where: str
    """As the end of a sentence that begins with: it does nothing but …"""


USES = (
    Use(("critic",), lambda c: c.credit.kind == "gae", "with credit.kind=gae, for nothing else has a critic"),
    Use(("credit.gamma",), lambda c: c.credit.kind in ("gae", "gigpo"), "with credit.kind=gae or gigpo"),
    Use(("credit.lam",), lambda c: c.credit.kind == "gae", "with credit.kind=gae"),
    Use(("credit.decay",), lambda c: c.credit.kind == "rae", "with credit.kind=rae"),
    Use(("credit.step_weight",), lambda c: c.credit.kind == "gigpo", "with credit.kind=gigpo"),
    Use(
        ("credit.normalise",),
        lambda c: c.credit.kind not in ("rloo", "rae"),
        "with credit.kind=grpo, gigpo, gae or baseline, for rloo and rae divide by nothing",
    ),
    Use(("objective.clip_low",), lambda c: c.objective.kind != "pg", "with objective.kind=ppo, gspo or cispo"),
    Use(("objective.constant",), lambda c: c.objective.aggregate == "constant", "with objective.aggregate=constant"),
    Use(("entropy.final_share",), lambda c: c.entropy.weight > 0, "with an entropy.weight above 0"),
    Use(("kl.estimator", "kl.final_share", "kl.refresh"), lambda c: c.kl.weight > 0, "with a kl.weight above 0"),
    Use(("sft.batch",), lambda c: c.sft.weight > 0, "with an sft.weight above 0"),
    Use(
        ("mismatch.correction", "mismatch.cap", "mismatch.turns"),
        lambda c: c.mismatch.mode == "decoupled",
        "with mismatch.mode=decoupled, for bypass has no weights",
    ),
    Use(("optimizer.target_kl",), lambda c: c.optimizer.epochs > 1, "with more than one of optimizer.epochs"),
    Use(("model.small",), lambda c: c.model.name is None, "without a model.name, when a small model is made"),
    Use(("model.lora",), lambda c: c.model.tune == "lora", "with model.tune=lora"),
    Use(
        ("engine.url", "engine.at_once", "engine.request_seconds", "engine.token_seconds"),
        lambda c: c.engine.kind == "vllm",
        "with engine.kind=vllm",
    ),
    Use(
        ("engine.arguments", "engine.devices"),
        lambda c: c.engine.kind == "vllm" and c.engine.url is None,
        "with engine.kind=vllm and without engine.url, when a server is started for the run",
    ),
    Use(
        ("pool",),
        lambda c: any("past" in stage.opponents for stage in c.stages),
        "where past is among the opponents of a stage",
    ),
    Use(
        ("cold_start.data",),
        lambda c: c.cold_start.steps > 0 or c.sft.weight > 0,
        "with cold_start.steps or an sft.weight above 0",
    ),
    Use(
        ("cold_start.keep",),
        lambda c: not c.cold_start.data and (c.cold_start.steps > 0 or c.sft.weight > 0),
        "with random matches behind cold_start.steps or an sft.weight above 0",
    ),
    Use(
        ("cold_start.batch", "cold_start.learning_rate", "cold_start.warmup"),
        lambda c: c.cold_start.steps > 0 or c.control,
        "with cold_start.steps above 0, or for the control",
    ),
    Use(("samples.groups", "samples.tokens"), lambda c: c.samples.every > 0, "with samples.every above 0"),
    Use(("evaluation.curve_matches",), lambda c: c.evaluation.every > 0, "with evaluation.every above 0"),
)


def idle(config: TrainConfig) -> Iterator[str]:
    """A sentence for each setting that is not its default and would do nothing."""
    default = TrainConfig(games=config.games)
    for setting in settings():
        if 0 in setting.path:  # all entries of a list are in use
            continue
        value, name = _value(config, setting.path), dotted(setting.path)
        if value == _value(default, setting.path):
            continue
        for use in USES:
            if any(name == one or name.startswith(f"{one}.") for one in use.settings) and not use.used(config):
                yield f"{name} = {shown(value)}: it does nothing but {use.where}. Leave it out ({name}=), or set that."


def _value(config: Any, path: Path) -> Any:
    for name in path:
        config = getattr(config, str(name))
    return config
