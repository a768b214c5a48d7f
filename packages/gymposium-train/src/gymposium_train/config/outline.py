"""A short outline of a run, based only on its config."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match.seating import round_up_matches
from gymposium.util.visible import quantity
from gymposium_agents.modeling.sources import find_title
from gymposium_train.config.backend_checks import find_backend_checks
from gymposium_train.config.measure import IN_WORDS, ColdStart
from gymposium_train.config.model import Model, find_architecture
from gymposium_train.config.play import Stage
from gymposium_train.config.root import TrainConfig
from gymposium_train.config.schedules import RunProgress, compute_growth


def outline_run(config: TrainConfig) -> dict[str, str]:
    """Return lines of text by topic, in the order of a run, for a config accepted by `checks.check_config`, without
    `teacher=auto`. Nothing is downloaded. Parameters of local models are counted without loading them. Raises
    `BadOption` for a LoRA on layers that the model does not have."""
    games = [load_game(name) for name in config.games]
    cold, engine = config.cold_start, config.engine
    chats = f"the chats in {', '.join(cold.data)}"
    matches_played = "random matches" if cold.matches is None else f"at most {cold.matches:,} random matches"
    source = chats if cold.data else f"{_describe_lessons(cold)} of {matches_played}"
    opponents = "; then ".join(_describe_stage(stage, config.stages) for stage in config.stages)
    is_taught = config.teaches_moves and cold.is_used
    return {
        "games": _describe_games(config, games),
        **find_backend_checks(config).outline(config),
        "cold start": _describe_distillation(config) if is_taught else _describe_cold_start(cold, source),
        "steps": _describe_steps(config),
        **({"opponents": opponents} if any(game.seats > 1 for game in games) else {}),
        "learning": _describe_learning(config),
        "engine": f"{engine.kind}, {engine.schedule}, at most {_format_count(engine.staleness, 'step')} behind",
        "measures": _describe_evaluations(config, games),
        "control": "SFT for the same CPU time" if config.control else "none",
    }


def _describe_games(config: TrainConfig, games: Sequence[Game]) -> str:
    total = math.fsum(config.game_shares)
    shares = [f", {share / total:.0%}" if isinstance(config.games, dict) else "" for share in config.game_shares]
    named = (
        f"{game.name} ({_format_count(game.seats, 'seat')}{share})" for game, share in zip(games, shares, strict=True)
    )
    return ", ".join(named) + (", more often if even" if config.rollout.sampling == "difficulty" else "")


def _describe_cold_start(cold: ColdStart, source: str) -> str:
    if cold.epochs is not None:
        return f"{quantity(cold.epochs, 'epoch')} of {source}"
    if cold.steps:
        return f"up to {quantity(cold.steps, 'step')} of {quantity(cold.batch, 'reply', 'replies')} from {source}"
    return "none"


def _describe_distillation(config: TrainConfig) -> str:
    cold, seconds = config.cold_start, config.cold_start_budget
    length = quantity(cold.steps, "step") if seconds is None else f"{seconds:g} CPU seconds"
    return f"{length}, in batches of {quantity(cold.batch, 'reply', 'replies')} recommended by {config.teacher}"


def _describe_lessons(cold: ColdStart) -> str:
    if cold.keep is not None:
        return IN_WORDS[cold.keep]
    return f"{IN_WORDS['winners']} (with chance or hidden information {IN_WORDS['all']})"


def _describe_learning(config: TrainConfig) -> str:
    learning = f"credit {config.credit.kind}, objective {config.objective.kind}, reward {config.reward}"
    weight, what = config.distillation_weight, f"{config.teacher}'s {'tokens' if config.teaches_tokens else 'moves'}"
    return f"{learning}, and {what} with weight {weight:g}" if weight else learning


def _describe_steps(config: TrainConfig) -> str:
    if config.steps == 0:
        return "none"
    settings, final = config.rollout, compute_growth(config, 1.0)
    groups, size = settings.groups, settings.group_size
    if groups is None:
        step = f"each of about {quantity(settings.decisions, 'reply', 'replies')}"
        step += f" in the first and {settings.decisions * final:,.0f} in the last" if final > 1.0 else ""
        step += f", in groups of {size}"
    else:
        step = f"each of {_format_count(groups, 'group')} of {_format_count(size, 'match', 'matches')}"
        step += f" in the first and {round(size * final)} in the last" if final > 1.0 else ""
    if config.steps is None:
        return f"as many as fit into {config.budget:g} CPU seconds including the cold start, {step}"
    if groups is None:
        return f"{config.steps}, {step}"
    pace = RunProgress(config)
    matches = groups * sum(round(size * compute_growth(config, pace(step))) for step in range(config.steps))
    return f"{config.steps}, {step}; {quantity(matches, 'match')} in all"


def _describe_stage(stage: Stage, stages: tuple[Stage, ...]) -> str:
    total = sum(stage.opponents.values())
    if len(stage.opponents) == 1:
        (opponents,) = stage.opponents
    else:
        opponents = ", ".join(f"{name} {share / total:.0%}" for name, share in stage.opponents.items())
    return opponents if stage is stages[-1] else f"{opponents} until the mean score is {stage.promote:g}"


def _describe_evaluations(config: TrainConfig, games: Sequence[Game]) -> str:
    measures = config.evaluation
    shared = [game for game in games if game.seats > 1]
    if not shared:
        return quantity(measures.matches, "match")
    alone = f"alone in {measures.matches:,}, " if len(shared) < len(games) else ""
    panel = (
        f"{name} in {_format_matches(measures.matches if name == 'random' else measures.search_matches, shared)}"
        for name in measures.opponents
    )
    return f"{alone}against {', '.join(panel)} matches, before and after"


def _format_matches(matches: int, games: Iterable[Game]) -> str:
    """Format the numbers of matches, which depend on each game's number of seats."""
    return " or ".join(f"{count:,}" for count in sorted({round_up_matches(matches, game) for game in games}))


def describe_local_model(config: TrainConfig) -> dict[str, str]:
    """Describe a model and its trainable parameters, as labeled lines."""
    model = config.model
    trained = f"a LoRA of rank {model.lora.rank}" if model.tune == "lora" else "all weights"
    counts = _count_small_model(model) if model.name is None else _count_parameters(model)
    if counts is None:
        return {"model": f"{model.name} (not on this machine, to be loaded from the hub)", "trained": trained}
    loaded = ", loaded in 4 bits" if model.load == "4bit" else ""
    return {
        "model": f"{_find_title(model)}, {counts[0]:,} parameters{loaded}",
        "trained": f"{trained}, {counts[1]:,} parameters",
    }


def _find_title(model: Model) -> str:
    if model.name is None:
        return "a small one, made by the run"
    title = find_title(model.name)
    return model.name if title is None else f"{title} in {model.name}"


def _count_small_model(model: Model) -> tuple[int, int]:
    """Return the numbers of total and trained parameters of the small model."""
    total = model.small.parameters(model.small.tokens)
    return total, model.small.lora_parameters(model.lora.rank, model.lora.targets) if model.tune == "lora" else total


def _count_parameters(model: Model) -> tuple[int, int] | None:
    """Return the numbers of total and trained parameters of a named model, or None if it is not on this machine. The
    model is made on torch's `meta` device, which uses no memory."""
    import torch  # heavy, and only needed to read a named model

    from gymposium_agents.lora.attach import attach_lora
    from gymposium_agents.models.loading import build_skeleton

    if (architecture := find_architecture(model)) is None:
        return None
    made = build_skeleton(architecture, model.trust)
    total = sum(parameter.numel() for parameter in made.parameters())
    if model.tune == "lora":
        targets = model.lora.targets
        with torch.device("meta"):
            made = attach_lora(made, rank=model.lora.rank, alpha=model.lora.alpha, seed=0, targets=targets)
    return total, sum(parameter.numel() for parameter in made.parameters() if parameter.requires_grad)


def _format_count(number: int, what: str, many: str = "") -> str:
    return f"{number} {what}" if number == 1 else f"{number} {many or f'{what}s'}"
