"""Checks of a whole config. The types say what each setting may be; here are the combinations of settings that are
refused, each with the reason and what to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.plugins.host import host
from gymposium_agents.engines.vllm.settings import VllmSettings
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.references import missing, unknown
from gymposium_train.config.root import TrainConfig
from gymposium_train.config.unused import unused
from gymposium_train.credit.make import make_credit


def check(config: TrainConfig, *, at_hand: bool = True) -> None:
    """Raise `BadConfig` with all problems that would stop the run later, or make it meaningless. Without `at_hand` it
    is not checked whether the models and the engine are there: that may ask the hub, and the run may be for another
    machine."""
    problems = [*contradictions(config), *unused(config), *unknown(config)]
    if at_hand:
        problems += missing(config)
    if problems:
        raise BadConfig(problems)


def contradictions(config: TrainConfig) -> Iterator[str]:
    """A sentence for each combination of settings that makes no sense."""
    yield from _work(config)
    yield from _credit(config)
    yield from _model(config)
    yield from _engine(config)
    yield from _asking(config)


def _work(config: TrainConfig) -> Iterator[str]:
    if not config.steps and not config.cold_start.steps:
        yield "steps = 0: with cold_start.steps = 0 there is nothing to learn. Set one of them above 0."
    if not config.steps and config.control:
        yield (
            "control = true: it spends the CPU time that reinforcement learning took, and with steps = 0 that is none. "
            "Set steps above 0, or leave the control out."
        )
    for name, times in Counter(config.evaluation.opponents).items():
        if times > 1:
            yield f"evaluation.opponents: {name} is there {times} times. Name it once."


def _credit(config: TrainConfig) -> Iterator[str]:
    kind, credit = config.credit.kind, make_credit(config.credit)
    if credit.critic is not None and config.steps and credit.critic.warmup >= config.steps:
        yield (
            f"credit.critic.warmup = {credit.critic.warmup}: only the critic learns in these steps, and there are no "
            f"more than {config.steps}. Lower it, or raise steps."
        )
    if credit.needs_groups and config.rollout.group_size == 1:
        yield (
            f"rollout.group_size = 1: credit.kind={kind} compares the matches of a group, and one alone has nothing "
            f"to be compared with. Set 2 or more, or a credit without groups: baseline, rae, gae."
        )
    if config.reward.startswith("ruler") and config.rollout.group_size == 1:
        yield (
            f"rollout.group_size = 1: reward={config.reward} compares the matches of a group, and one alone "
            f"has nothing to be compared with. Set 2 or more; 4 to 8 are usual."
        )
    if config.reward.startswith("clipped") and not credit.needs_turn_rewards:
        yield (
            f"reward={config.reward} clips the reward of each turn, and credit.kind={kind} uses that of "
            f"whole matches. Set credit.kind=gae or gigpo, or another reward, such as returns."
        )
    if credit.compares_states and config.asking.context != "state":
        yield (
            f"asking.context = {config.asking.context}: credit.kind={kind} compares turns that had the same prompt, "
            f"and a prompt that contains the match so far hardly ever repeats. Set context=state, or credit.kind=grpo."
        )


def _model(config: TrainConfig) -> Iterator[str]:
    model = config.model
    if model.tune == "full" and model.load == "4bit":
        yield (
            "model.load = 4bit: quantized weights cannot be trained, only a LoRA on them. Set model.tune=lora, or "
            "leave load out."
        )
    if config.optimizer.checkpointing and config.optimizer.layout == "shared":
        yield (
            "optimizer.checkpointing = true: optimizer.layout=shared keeps what it has run for the rows that begin "
            "alike, which checkpointing throws away. Set layout=padded or packed."
        )


def _engine(config: TrainConfig) -> Iterator[str]:
    engine, spec = config.engine, host().engines[config.engine.kind]
    if spec.shares_learner and engine.staleness:
        yield (
            f"engine.staleness = {engine.staleness}: with engine.kind={engine.kind} the model that plays is the one "
            f"that learns, so rollouts cannot overlap updates. Set engine.kind=own or vllm, or staleness=0."
        )
    if spec.shares_learner and engine.schedule == "streaming":
        yield (
            f"engine.schedule = streaming: with engine.kind={engine.kind} there is one model in this thread, which "
            f"answers all matches together. Set engine.kind=own or vllm, or schedule=rounds."
        )
    if not spec.all_weights and config.model.tune == "full":
        yield (
            f"engine.kind = {engine.kind}: the engine is handed an adapter after each step, and with model.tune=full "
            f"there is none. Set model.tune=lora, or engine.kind=own."
        )
    if isinstance(engine.own, VllmSettings) and config.model.load == "4bit" and engine.own.url is None:
        yield (
            "model.load = 4bit: a server that is started for the run serves the weights as they are, and would not "
            "play as the learner learns. Set engine.kind=own or shared, or name in engine.url a server that quantizes "
            "alike."
        )


def _asking(config: TrainConfig) -> Iterator[str]:
    asking = config.asking
    try:
        kind = FailurePolicy.parse(asking.on_illegal).kind
    except BadOption as error:
        yield f"asking.on_illegal: {error}"
    else:
        if kind not in ("forfeit", "penalty"):
            yield (
                f"asking.on_illegal = {asking.on_illegal}: a reply that was not played would share the credit of the "
                f"one that was. Set forfeit or penalty(x)."
            )
    if asking.thinking and asking.reply != "tags":
        yield (
            f"asking.thinking = true: with asking.reply={asking.reply} a reply that begins with thoughts is not read "
            f"as a move. Set reply=tags, and leave room in max_tokens."
        )
