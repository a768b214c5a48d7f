"""Whether a config makes sense as a whole. What each setting may be by itself is a matter of its type (`reading`); here
are the combinations, each refused with the reason and what to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.plugins.host import host
from gymposium_train.config.idle import idle
from gymposium_train.config.known import missing, unknown
from gymposium_train.config.learn import BY_TURN
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.whole import TrainConfig


def check(config: TrainConfig, *, at_hand: bool = True) -> None:
    """Raises `BadConfig` with all that would stop the run later, or would let it go on and mean nothing. Without
    `at_hand`, whether the models and the engine that it names are there is left open: the hub may have to be asked, and
    another machine may do the run."""
    problems = [*contradictions(config), *idle(config), *unknown(config)]
    if at_hand:
        problems += missing(config)
    if problems:
        raise BadConfig(problems)


def contradictions(config: TrainConfig) -> Iterator[str]:
    """A sentence for each combination that makes no sense, whatever names it holds."""
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
    credit, objective = config.credit.kind, config.objective
    if credit == "gae" and config.critic.weight == 0:
        yield (
            "critic.weight = 0: with credit.kind=gae advantages come from the critic, which would never learn. Set it "
            "above 0, or take a credit without a critic, such as grpo."
        )
    if credit == "gae" and config.steps and config.critic.warmup >= config.steps:
        yield (
            f"critic.warmup = {config.critic.warmup}: so long only the critic learns, and there are no more than "
            f"{config.steps} steps. Lower it, or raise steps."
        )
    if credit in ("grpo", "rloo", "gigpo") and config.rollout.group_size == 1:
        yield (
            f"rollout.group_size = 1: credit.kind={credit} compares the matches of a group, and one alone has nothing "
            f"to be compared with. Take 2 or more, or a credit without groups: baseline, rae, gae."
        )
    if config.reward.startswith("ruler") and config.rollout.group_size == 1:
        yield (
            f"rollout.group_size = 1: reward={config.reward} compares the matches of a group, and one alone "
            f"has nothing to be compared with. Take 2 or more; 4 to 8 are usual."
        )
    if config.reward.startswith("clipped") and credit not in BY_TURN:
        yield (
            f"reward={config.reward} holds what each turn is paid within bounds, and credit.kind={credit} looks at "
            f"whole matches. Take credit.kind=gae or gigpo, or another reward, such as returns."
        )
    if credit == "gigpo" and config.asking.context != "state":
        yield (
            f"asking.context = {config.asking.context}: credit.kind=gigpo compares turns that had the same prompt, and "
            f"a prompt that tells the match so far hardly comes twice. Take context=state, or credit.kind=grpo."
        )
    if objective.aggregate == "constant" and objective.constant is None:
        yield (
            f"objective.constant is missing: objective.aggregate=constant divides by it. Set it, for instance to the "
            f"longest reply, {config.asking.max_tokens}."
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
    engine, spec = config.engine, host().engines.get(config.engine.kind)
    if spec is None:  # `known` says so
        return
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
    if engine.kind == "vllm" and config.model.load == "4bit" and engine.url is None:
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
                f"one that was. Take forfeit or penalty(x)."
            )
    if asking.thinking and asking.reply != "tags":
        yield (
            f"asking.thinking = true: with asking.reply={asking.reply} a reply that begins with thoughts is not read "
            f"as a move. Set reply=tags, and leave room in max_tokens."
        )
