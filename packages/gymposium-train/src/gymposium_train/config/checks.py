"""Checks of a whole config: invalid combinations of settings, each with the reason and the fix. The type of each
setting has already been checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from gymposium.errors import BadOption
from gymposium.plugins.host import host
from gymposium.util.visible import plural
from gymposium_agents.chat.settings import TOOLS
from gymposium_agents.engines.vllm.settings import VllmSettings
from gymposium_train.config.backend_checks import find_backend_checks
from gymposium_train.config.engine import ENGINES_HERE
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.references import find_missing, find_unknown
from gymposium_train.config.root import TrainConfig
from gymposium_train.config.unused import find_unused
from gymposium_train.credit.make import make_credit


class Rule(NamedTuple):
    """A rule about a combination of settings."""

    broken: bool
    """Whether the config breaks the rule."""
    sentence: str
    """The problem and its fix. Begins with the path of a setting."""


def check_config(config: TrainConfig, *, at_hand: bool = True) -> None:
    """Raise `BadConfig` with all problems that would stop the run later or make it meaningless. With `at_hand=False`,
    does not check that models, engine and backend are available. That check may use the network, and the run may be for
    another machine."""
    backend = find_backend_checks(config)
    problems = [*find_contradictions(config), *find_unused(config), *find_unknown(config), *backend.refusals(config)]
    if at_hand:
        problems += [*find_missing(config), *backend.missing(config)]
    if problems:
        raise BadConfig(problems)


def find_contradictions(config: TrainConfig) -> Iterator[str]:
    """Yield a sentence for each combination of settings that makes no sense."""
    rules = chain(
        _list_run_rules(config),
        _list_teacher_rules(config),
        _list_credit_rules(config),
        _list_tie_rules(config),
        _list_model_rules(config),
        _list_engine_rules(config),
        _list_prompting_rules(config),
    )
    return (rule.sentence for rule in rules if rule.broken)


def _list_run_rules(config: TrainConfig) -> Iterator[Rule]:
    matches = config.source.kind == "matches"
    yield Rule(
        matches and not config.games and not (config.steps == 0 and config.cold_start.data),
        "games: no game is named. Name the games to learn, such as games=['tic_tac_toe']. gymposium list shows all "
        "games.",
    )
    yield Rule(
        not matches and config.steps is None,
        f"steps: with source.kind={config.source.kind}, trajectories arrive whenever others provide them, so a CPU "
        f"budget cannot end the run. Set the number of steps.",
    )
    yield Rule(
        not matches and isinstance(config.games, dict),
        f"games: shares divide the groups of matches, but source.kind={config.source.kind} plays none. Name the games "
        f"in a list.",
    )
    yield Rule(
        config.source.kind == "sessions" and config.reward != "posted",
        f"reward = {config.reward}: with source.kind=sessions, the clients give the rewards. Set reward=posted.",
    )
    yield Rule(
        config.source.kind != "sessions" and config.reward == "posted",
        "reward = posted: clients give this reward at the end of their sessions. Set source.kind=sessions, or "
        "another reward.",
    )
    command, scores = (getattr(config.source, name, None) for name in ("run", "scores"))
    yield Rule(
        (command is None) != (scores is None),
        "--run and --reward (source.run and source.scores) must be used together: an agent's command, started by the "
        "run, and the function that computes its rewards. Give both or neither.",
    )
    yield Rule(
        not config.games and config.cold_start.steps > 0 and not config.cold_start.data,
        "cold_start.steps: without games, there are no matches to imitate. Name a game, name chat files in "
        "cold_start.data, or set model.name to a model that can already answer.",
    )
    yield Rule(
        config.source.kind == "sessions" and host().engines[config.engine.kind].shares_learner,
        f"engine.kind = {config.engine.kind}: with source.kind=sessions, the engine answers while the model learns, "
        f"but this one shares the learner's model. Set engine.kind=own or vllm.",
    )
    yield Rule(
        config.steps == 0 and not config.cold_start.is_used,
        "steps = 0: with cold_start.steps = 0, there is nothing to learn. Set one of them above 0.",
    )
    yield Rule(
        config.cold_start.epochs is not None and not config.cold_start.data,
        f"cold_start.epochs = {config.cold_start.epochs}: epochs are passes over files, but cold_start.data names "
        f"none. Name chat files, or set cold_start.steps.",
    )
    yield Rule(
        config.steps == 0 and config.control,
        "control = true: the control spends as much CPU time as reinforcement learning took, but steps = 0. Set "
        "steps above 0, or turn off the control.",
    )
    for name, times in Counter(config.evaluation.opponents).items():
        yield Rule(times > 1, f"evaluation.opponents: duplicate opponent {name} ({times} times). Name it once.")


def _list_teacher_rules(config: TrainConfig) -> Iterator[Rule]:
    if not config.has_teacher:
        return
    start, cold, has_term = f"teacher = {config.teacher}", config.cold_start, config.distillation.weight > 0
    if config.teaches_tokens:
        yield Rule(
            config.steps == 0 or not has_term,
            f"{start}: it scores the tokens of rollouts, but with steps=0 or distillation.weight=0, nothing is learned "
            f"from them. Set both above 0, or omit the teacher.",
        )
        return
    yield Rule(
        config.prompting.reply != "move",
        f"{start}: it recommends moves, but with prompting.reply={config.prompting.reply}, replies contain other text. "
        f"Set prompting.reply=move, or omit the teacher.",
    )
    yield Rule(
        not config.games, f"{start}: without games, there are no decisions to ask it about. Name a game, or omit it."
    )
    yield Rule(
        not cold.is_used and config.steps != 0 and not has_term,
        f"{start}: it is asked in the cold start and in reinforcement learning, but there is no cold start "
        f"(cold_start.steps = 0), and distillation.weight = 0. Set one of them above 0, or omit the teacher.",
    )
    yield Rule(
        bool(cold.data),
        f"{start}: the cold start learns either from a teacher or from cold_start.data. Omit one of them.",
    )
    yield Rule(
        config.sft is not None,
        f"{start}: sft.weight imitates random players or files, which would undo what the teacher taught. Omit one of "
        f"them.",
    )
    yield Rule(
        config.control,
        f"{start}: the control imitates random players or files, so it is no comparison. Turn off the control.",
    )
    yield Rule(
        config.steps is None and cold.budget is not None and cold.budget >= config.budget,
        f"cold_start.budget = {cold.budget}: it leaves nothing of budget={config.budget:g} for reinforcement learning. "
        f"Lower it, or set steps=0 for distillation alone.",
    )


def _list_credit_rules(config: TrainConfig) -> Iterator[Rule]:
    remedy = "Set distillation.weight above 0" if config.has_teacher else "Set teacher"
    yield Rule(
        config.credit.kind == "off" and config.distillation_weight == 0,
        f"credit.kind = off: without credit for rewards, reinforcement learning learns only from a teacher. {remedy}, "
        f"or another credit.",
    )
    kind, credit = config.credit.kind, make_credit(config.credit)
    reward, context = config.reward, config.prompting.context
    single = config.rollout.group_size == 1
    if credit.critic is not None:
        yield Rule(
            config.steps is not None and 0 < config.steps <= credit.critic.warmup,
            f"credit.critic.warmup = {credit.critic.warmup}: only the critic learns during warmup, but the run has "
            f"only {config.steps} {plural(config.steps or 0, 'step')}. Lower it, or raise steps.",
        )
    yield Rule(
        single and credit.needs_groups,
        f"rollout.group_size = 1: credit.kind={kind} compares the matches of a group. Set 2 or more, or use a credit "
        f"without groups: baseline, rae, gae.",
    )
    yield Rule(
        single and reward.startswith("ruler"),
        f"rollout.group_size = 1: reward={reward} compares the matches of a group. Set 2 or more. Usual values are 4 "
        f"to 8.",
    )
    yield Rule(
        reward.startswith("clipped") and not credit.needs_turn_rewards,
        f"reward={reward} clips the reward of each turn, but credit.kind={kind} uses the reward of whole matches. Set "
        f"credit.kind=gae or gigpo, or another reward, such as returns.",
    )
    yield Rule(
        credit.compares_states and context != "state",
        f"prompting.context = {context}: credit.kind={kind} compares turns with the same prompt, but prompts that "
        f"contain the match so far hardly ever repeat. Set context=state, or credit.kind=grpo.",
    )


def _list_tie_rules(config: TrainConfig) -> Iterator[Rule]:
    if not (number := config.rollout.replace_tied):
        return
    kind, credit, start = config.credit.kind, make_credit(config.credit), f"rollout.replace_tied = {number}"
    yield Rule(
        not credit.drops_ties,
        f"{start}: credit.kind={kind} also learns from groups with equal rewards. Set credit.kind=grpo or rloo, or "
        f"replace_tied=0.",
    )
    yield Rule(
        "ruler" in config.reward,
        f"{start}: reward={config.reward} asks a judge, which would have to rate each group twice. Set replace_tied=0, "
        f"or another reward.",
    )
    yield Rule(
        config.kl.weight > 0 and config.kl.estimator == "k1",
        f"{start}: kl.estimator=k1 changes the reward of each match, so groups are never tied. Set kl.estimator=k2, or "
        f"replace_tied=0.",
    )


def _list_model_rules(config: TrainConfig) -> Iterator[Rule]:
    yield Rule(config.model.name == "", "model.name: empty. Name a model directory or a hub model.")
    yield Rule(
        config.model.tune == "full" and config.model.load == "4bit",
        "model.load = 4bit: quantized weights cannot be trained, only a LoRA on them. Set model.tune=lora, or omit "
        "load.",
    )
    yield Rule(
        config.optimizer.checkpointing is True and config.optimizer.layout == "shared",
        "optimizer.checkpointing = true: optimizer.layout=shared keeps the activations of common prefixes, but "
        "checkpointing discards them. Set layout=packed, or checkpointing=false.",
    )


def _list_engine_rules(config: TrainConfig) -> Iterator[Rule]:
    engine, spec, backend = config.engine, host().engines[config.engine.kind], config.backend.kind
    fitting = [name for name, other in host().engines.items() if other.backend == backend]
    yield Rule(
        spec.backend != backend,
        f"engine.kind = {engine.kind}: this engine plays models of backend.kind={spec.backend}, but the model learns "
        f"on {backend}. Set engine.kind={' or '.join(fitting)}.",
    )
    yield Rule(
        config.control and config.model.tune == "lora" and getattr(engine, "url", None) is not None,
        "control = true: the control is another model than the one served at engine.url, so it cannot be evaluated "
        "there. Omit engine.url, or turn off the control.",
    )
    yield Rule(
        spec.shares_learner and engine.staleness > 0,
        f"engine.staleness = {engine.staleness}: with engine.kind={engine.kind}, the same model plays and learns, so "
        f"rollouts cannot overlap updates. Set engine.kind=own or vllm, or staleness=0.",
    )
    yield Rule(
        spec.shares_learner and engine.schedule == "streaming",
        f"engine.schedule = streaming: with engine.kind={engine.kind}, one model in this thread answers all matches "
        f"together. Set engine.kind=own or vllm, or schedule=rounds.",
    )
    yield Rule(
        config.model.tune == "full" and not spec.all_weights,
        f"engine.kind = {engine.kind}: this engine receives an adapter after each step, but model.tune=full has none. "
        f"Set model.tune=lora, or engine.kind=own.",
    )
    yield Rule(
        config.model.load == "4bit" and isinstance(engine.own, VllmSettings) and engine.own.url is None,
        "model.load = 4bit: a server started for the run serves unquantized weights, so it would not match the "
        "learner. Set engine.kind=own or shared, or set engine.url to a server with the same quantization.",
    )


def _list_prompting_rules(config: TrainConfig) -> Iterator[Rule]:
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
    overlong = config.overlong
    yield Rule(
        overlong.mode == "penalize" and overlong.buffer_tokens(prompting.reply_limit) > prompting.reply_limit,
        f"overlong.buffer = {overlong.buffer}: more than prompting.max_tokens={prompting.reply_limit}, so the shortest "
        f"reply would be penalized. Set it to at most {prompting.reply_limit}.",
    )
    yield Rule(
        prompting.reply == TOOLS and config.model.name is None,
        f"prompting.reply = {TOOLS}: the chat template of a run's small model does not support tools. Set reply=move, "
        f"or set model.name to a model whose template does.",
    )
    yield from _list_picture_rules(config)
    yield Rule(
        prompting.thinking and prompting.reply not in ("tags", TOOLS),
        f"prompting.thinking = true: with prompting.reply={prompting.reply}, replies that begin with thoughts are not "
        f"read as moves. Set reply=tags, or reply={TOOLS} in games with tools, and allow enough max_tokens.",
    )
    yield Rule(
        prompting.history == "kept" and config.source.kind == "sessions",
        "prompting.history = kept: clients of source.kind=sessions send whole conversations, which the chat template "
        "renders. Omit prompting.history.",
    )
    yield Rule(
        config.entropy.weight > 0 and prompting.reply != "move",
        f"entropy.weight = {config.entropy.weight}: the bonus covers replies that consist only of a legal move, but "
        f"with prompting.reply={prompting.reply}, replies contain other text. Set reply=move, or omit the weight. "
        f"kl.weight or a higher prompting.temperature also keep the policy exploring.",
    )


def _list_picture_rules(config: TrainConfig) -> Iterator[Rule]:
    start = f"prompting.prompt = {config.prompting.prompt}"
    if config.prompting.pictures == "none":
        return
    yield Rule(
        config.model.name is None, f"{start}: the small model of a run does not see. Set model.name to a vision model."
    )
    yield Rule(
        config.engine.kind not in ENGINES_HERE,
        f"{start}: pixels stay in this process, but engine.kind={config.engine.kind} plays elsewhere. Set "
        f"engine.kind={' or '.join(ENGINES_HERE)}, or prompting.prompt=full.",
    )
    yield Rule(
        config.prompting.history == "kept",
        f"{start}: prompting.history=kept is only for prompts without pictures. Omit it.",
    )
    yield Rule(
        bool(config.cold_start.data),
        f"{start}: the files in cold_start.data have no pictures. Omit them to imitate random play with pictures, or "
        f"set prompting.prompt=full.",
    )
    yield Rule(
        config.teaches_tokens,
        f"{start}: teacher={config.teacher} would score tokens of pictures that it does not read. Omit the teacher, or "
        f"set prompting.prompt=full.",
    )
