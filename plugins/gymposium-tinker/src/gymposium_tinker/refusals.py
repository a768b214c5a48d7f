"""Settings that the service does not support, with reasons."""

from __future__ import annotations

from collections.abc import Iterator

from gymposium_tinker.settings import TinkerSettings
from gymposium_train.config import TrainConfig
from gymposium_train.config.unused import UseCondition, find_unused
from gymposium_train.credit.make import make_credit

ELSEWHERE = "with backend.kind=local; the service decides this itself"
WITHOUT_EFFECT = (
    UseCondition(
        ("model.lora.alpha", "model.lora.targets", "model.load", "model.small"), lambda config: False, ELSEWHERE
    ),
    UseCondition(
        (
            "optimizer.precision",
            "optimizer.token_budget",
            "optimizer.layout",
            "optimizer.parallel",
            "optimizer.checkpointing",
            "optimizer.max_bad_steps",
        ),
        lambda config: False,
        ELSEWHERE,
    ),
)
"""Settings that only affect a model on this machine."""


def refusals(config: TrainConfig, settings: TinkerSettings) -> Iterator[str]:
    """Yield a sentence with the reason for each setting that the service does not support."""
    credit, several = make_credit(config.credit), config.optimizer.epochs * config.optimizer.minibatches > 1
    if config.model.name is None:
        yield (
            "model.name: the service holds pretrained models, and cannot take the small one that a run makes. Name one "
            "with --model; its tokenizer and chat template are read here."
        )
    if config.model.tune == "full":
        yield "model.tune = full: the service trains LoRAs only. Set model.tune=lora."
    if credit.critic is not None:
        yield (
            f"credit.kind = {config.credit.kind}: a critic reads the model's hidden states, which the service does not "
            f"return. Set a credit without a critic: grpo, rloo, baseline, rae or gigpo."
        )
    if config.entropy.weight > 0:
        yield (
            f"entropy.weight = {config.entropy.weight}: the service returns the log-probabilities of the given tokens "
            f"alone, and an entropy needs those of all tokens. Leave it out; kl.weight also keeps the policy exploring."
        )
    if config.legality_weight > 0:
        yield (
            f"legality.weight = {config.legality.weight}: the service returns the log-probabilities of the given "
            f"tokens alone, and the term needs those of all legal ones. Set legality.weight=0."
        )
    if config.teaches_moves and config.distillation_weight > 0:
        yield (
            f"distillation.weight = {config.distillation.weight}: the service returns the log-probabilities of the "
            f"given tokens alone, and the term needs those of all legal ones. Set distillation.weight=0."
        )
    if config.kl.refresh_share < 1.0:
        yield (
            f"kl.refresh_share = {config.kl.refresh_share}: the service keeps weights as they are, and cannot average "
            f"them. Leave it out, so that the reference is a copy."
        )
    if config.prompting.temperature != 1.0:
        yield (
            f"prompting.temperature = {config.prompting.temperature}: the service learns at temperature 1, so that "
            f"ratios of probabilities at another one would be wrong. Set prompting.temperature=1."
        )
    if several and config.optimizer.target_kl > 0:
        yield (
            f"optimizer.target_kl = {config.optimizer.target_kl}: an optimizer step is sent together with its "
            f"gradient, before the KL is known, and the service cannot discard a gradient. Set optimizer.target_kl=0, "
            f"or optimizer.epochs=1 and optimizer.minibatches=1."
        )
    if config.steps is None:
        yield (
            f"steps: the budget of {config.budget:g} CPU seconds counts this machine, and the work is done elsewhere. "
            f"Give the number of steps."
        )
    if config.control:
        yield "control = true: the control trains all weights on this machine. Leave it out."
    if not (settings.train_attention or settings.train_mlp or settings.train_output):
        yield (
            "backend.train_attention = false: no layer would be trained. Set one of train_attention, train_mlp or "
            "train_output."
        )
    yield from find_unused(config, WITHOUT_EFFECT)
