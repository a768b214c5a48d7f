"""Checks of a whole config: combinations of settings that are refused, each with the reason and what to change. The
type of each setting has been checked before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from gymposium.errors import BadOption
from gymposium.plugins.host import host
from gymposium_agents.chat.settings import TOOLS
from gymposium_agents.engines.vllm.settings import VllmSettings
from gymposium_train.config.backend_checks import backend_checks
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.references import missing, unknown
from gymposium_train.config.root import TrainConfig
from gymposium_train.config.unused import unused
from gymposium_train.credit.make import make_credit


class Rule(NamedTuple):
    """A rule about several settings."""

    broken: bool
    """Whether the config breaks it."""
    sentence: str
    """The problem, which begins with the path of a setting, and what to change."""


def check(config: TrainConfig, *, at_hand: bool = True) -> None:
    """Raise `BadConfig` with all problems that would stop the run later, or make it meaningless. `at_hand=False` skips
    the check that models, engine and backend are available: it may ask the network, and the run may be for another
    machine."""
    backend = backend_checks(config)
    problems = [*contradictions(config), *unused(config), *unknown(config), *backend.refusals(config)]
    if at_hand:
        problems += [*missing(config), *backend.missing(config)]
    if problems:
        raise BadConfig(problems)


def contradictions(config: TrainConfig) -> Iterator[str]:
    """A sentence for each combination of settings that makes no sense."""
    rules = chain(_work(config), _credit(config), _model(config), _engine(config), _prompting(config))
    return (rule.sentence for rule in rules if rule.broken)


def _work(config: TrainConfig) -> Iterator[Rule]:
    matches = config.source.kind == "matches"
    yield Rule(
        matches and not config.games,
        "games: none is named. Name the games to learn, such as games=['tic_tac_toe']; gymposium list shows all games.",
    )
    yield Rule(
        not matches and config.steps is None,
        f"steps: source.kind={config.source.kind} gives trajectories when others are ready, so a budget of CPU seconds "
        f"does not say when to end. Give the number of steps.",
    )
    yield Rule(
        config.source.kind == "sessions" and config.reward != "posted",
        f"reward = {config.reward}: with source.kind=sessions the clients give the rewards. Set reward=posted.",
    )
    yield Rule(
        config.source.kind != "sessions" and config.reward == "posted",
        "reward = posted: clients give it at the ends of their sessions. Set source.kind=sessions, or another reward.",
    )
    command, scores = (getattr(config.source, name, None) for name in ("run", "scores"))
    yield Rule(
        (command is None) != (scores is None),
        "--run and --reward (source.run and source.scores) belong together: the command of an agent, which the run "
        "starts itself, and the function that gives its rewards. Give both, or none.",
    )
    yield Rule(
        not config.games and config.cold_start.steps > 0 and not config.cold_start.data,
        "cold_start.steps: without games there are no matches to imitate. Name a game, files of chats in "
        "cold_start.data, or in model.name a model that can answer already.",
    )
    yield Rule(
        config.source.kind == "sessions" and host().engines[config.engine.kind].shares_learner,
        f"engine.kind = {config.engine.kind}: with source.kind=sessions the engine answers while the model learns, and "
        f"this one shares the learner's model. Set engine.kind=own or vllm.",
    )
    yield Rule(
        config.steps == 0 and not config.cold_start.steps,
        "steps = 0: with cold_start.steps = 0 there is nothing to learn. Set one of them above 0.",
    )
    yield Rule(
        config.steps == 0 and config.control,
        "control = true: it spends the CPU time that reinforcement learning took, and with steps = 0 that is none. "
        "Set steps above 0, or leave the control out.",
    )
    for name, times in Counter(config.evaluation.opponents).items():
        yield Rule(times > 1, f"evaluation.opponents: {name} is there {times} times. Name it once.")


def _credit(config: TrainConfig) -> Iterator[Rule]:
    kind, credit = config.credit.kind, make_credit(config.credit)
    reward, context = config.reward, config.prompting.context
    single = config.rollout.group_size == 1
    if credit.critic is not None:
        yield Rule(
            config.steps is not None and 0 < config.steps <= credit.critic.warmup,
            f"credit.critic.warmup = {credit.critic.warmup}: only the critic learns in these steps, and there are no "
            f"more than {config.steps}. Lower it, or raise steps.",
        )
    yield Rule(
        single and credit.needs_groups,
        f"rollout.group_size = 1: credit.kind={kind} compares the matches of a group, and one alone has nothing to be "
        f"compared with. Set 2 or more, or a credit without groups: baseline, rae, gae.",
    )
    yield Rule(
        single and reward.startswith("ruler"),
        f"rollout.group_size = 1: reward={reward} compares the matches of a group, and one alone has nothing to be "
        f"compared with. Set 2 or more; 4 to 8 are usual.",
    )
    yield Rule(
        reward.startswith("clipped") and not credit.needs_turn_rewards,
        f"reward={reward} clips the reward of each turn, and credit.kind={kind} uses that of whole matches. Set "
        f"credit.kind=gae or gigpo, or another reward, such as returns.",
    )
    yield Rule(
        credit.compares_states and context != "state",
        f"prompting.context = {context}: credit.kind={kind} compares turns that had the same prompt, and a prompt that "
        f"contains the match so far hardly ever repeats. Set context=state, or credit.kind=grpo.",
    )


def _model(config: TrainConfig) -> Iterator[Rule]:
    yield Rule(config.model.name == "", "model.name: it is empty. Name a model directory or a model of the hub.")
    yield Rule(
        config.model.tune == "full" and config.model.load == "4bit",
        "model.load = 4bit: quantized weights cannot be trained, only a LoRA on them. Set model.tune=lora, or leave "
        "load out.",
    )
    yield Rule(
        config.optimizer.checkpointing is True and config.optimizer.layout == "shared",
        "optimizer.checkpointing = true: optimizer.layout=shared keeps the activations of common prefixes, which "
        "checkpointing discards. Set layout=packed, or checkpointing=false.",
    )


def _engine(config: TrainConfig) -> Iterator[Rule]:
    engine, spec, backend = config.engine, host().engines[config.engine.kind], config.backend.kind
    fitting = [name for name, other in host().engines.items() if other.backend == backend]
    yield Rule(
        spec.backend != backend,
        f"engine.kind = {engine.kind}: it plays models of backend.kind={spec.backend}, and the model learns on "
        f"{backend}. Set engine.kind={' or '.join(fitting)}.",
    )
    yield Rule(
        spec.shares_learner and engine.staleness > 0,
        f"engine.staleness = {engine.staleness}: with engine.kind={engine.kind} the model that plays is the one that "
        f"learns, so rollouts cannot overlap updates. Set engine.kind=own or vllm, or staleness=0.",
    )
    yield Rule(
        spec.shares_learner and engine.schedule == "streaming",
        f"engine.schedule = streaming: with engine.kind={engine.kind} there is one model in this thread, which answers "
        f"all matches together. Set engine.kind=own or vllm, or schedule=rounds.",
    )
    yield Rule(
        config.model.tune == "full" and not spec.all_weights,
        f"engine.kind = {engine.kind}: the engine is handed an adapter after each step, and with model.tune=full there "
        f"is none. Set model.tune=lora, or engine.kind=own.",
    )
    yield Rule(
        config.model.load == "4bit" and isinstance(engine.own, VllmSettings) and engine.own.url is None,
        "model.load = 4bit: a server that is started for the run serves the weights as they are, and would not play as "
        "the learner learns. Set engine.kind=own or shared, or name in engine.url a server that quantizes alike.",
    )


def _prompting(config: TrainConfig) -> Iterator[Rule]:
    prompting = config.prompting
    try:
        kind = prompting.policy().kind
    except BadOption as error:
        yield Rule(True, f"prompting.on_illegal: {error}")
    else:
        yield Rule(
            kind not in ("forfeit", "penalty"),
            f"prompting.on_illegal = {prompting.on_illegal}: a reply that was not played would share the credit of "
            f"the one that was. Set forfeit or penalty(x).",
        )
    yield Rule(
        prompting.reply == TOOLS and config.model.name is None,
        f"prompting.reply = {TOOLS}: the chat template of the small model that a run makes has no tools. Set "
        f"reply=move, or name in model.name a model whose template has tools.",
    )
    yield Rule(
        prompting.thinking and prompting.reply not in ("tags", TOOLS),
        f"prompting.thinking = true: with prompting.reply={prompting.reply} a reply that begins with thoughts is not "
        f"read as a move. Set reply=tags, or reply={TOOLS} in games with tools, and leave room in max_tokens.",
    )
    yield Rule(
        prompting.history == "kept" and config.source.kind == "sessions",
        "prompting.history = kept: clients of source.kind=sessions send whole conversations, which the chat template "
        "renders. Leave it out.",
    )
    yield Rule(
        config.entropy.weight > 0 and prompting.reply != "move",
        f"entropy.weight = {config.entropy.weight}: the bonus is over the replies that are a legal move and nothing "
        f"else, and with prompting.reply={prompting.reply} a reply has other text. Set reply=move, or leave the weight "
        f"out: kl.weight or a higher prompting.temperature also keeps the policy exploring.",
    )
