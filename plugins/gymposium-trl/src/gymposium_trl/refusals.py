"""Checks of trainers, contexts and chat templates, with errors that give the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transformers import PreTrainedTokenizerBase

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.match.failures import FailurePolicy
from gymposium.tasks.tools.reader import ToolsReader
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.context import parse_context
from gymposium_agents.chat.growth import After
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.players.player import choose_reader

NEUTRAL: dict[str, object] = {
    "use_vllm": False,
    "use_transformers_continuous_batching": False,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": None,
    "repetition_penalty": 1.0,
    "generation_kwargs": None,
    "cache_implementation": None,
    "chat_template_kwargs": None,
}
"""Settings of `GRPOConfig` that have no effect, with the only value accepted for each."""


def check_context(game: Game, settings: PlayerSettings, on_illegal: FailurePolicy) -> None:
    """Raise `BadOption` for a context that rewrites history between turns. TRL needs one row per match."""
    if not parse_context(settings.context).grows and not _has_one_turn(game, on_illegal):
        raise BadOption(
            f"context={settings.context}: each turn would be a separate row, but TRL takes one row per match. "
            f"Omit it, or use context=full."
        )


def check_template(game: Game, settings: PlayerSettings, on_illegal: FailurePolicy, chat: Chat) -> None:
    """Raise `BadOption` for a chat template that does not support tools in a game that needs them, or that rewrites
    history between turns."""
    calls = isinstance(choose_reader(settings.reply, chat), ToolsReader)  # raises for a template without tools
    if _has_one_turn(game, on_illegal):
        return
    forfeits = on_illegal.kind == "forfeit"
    # a reply with thoughts ends the match if it has to be one of the legal moves
    thoughts = settings.reply not in ("move", "json") or not forfeits or game.num_actions == 0
    afters: list[After] = ["tool"] if calls else ["user"]
    if calls and not forfeits:
        afters.append("user")  # a message that says why a reply was not accepted
    for after in afters:
        if not chat.grows(after, thoughts=thoughts):
            raise BadOption(
                f"The chat template of {chat.tokenizer.name_or_path!r} rewrites earlier messages before a message of "
                f"the {after}, so a match would be several rows, but TRL needs one row per match. Use history='kept', "
                f"a model whose template keeps history, or a template of "
                f"trl.chat_template_utils.get_training_chat_template(tokenizer)."
            )


def check_trainer(trainer: Any, chat: Chat, rows: int) -> None:
    """Raise `BadOption`, with the reason, if the trainer cannot use `rows` rows."""
    for reason in _find_reasons(trainer, chat, rows):
        raise BadOption(reason)


def get_tokenizer(trainer: Any) -> PreTrainedTokenizerBase:
    """Return a trainer's tokenizer. Raises `BadOption` for a multimodal processor."""
    tokenizer = trainer.processing_class
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise BadOption(
            f"processing_class is a {type(tokenizer).__name__}, but matches are text. Give the trainer a tokenizer "
            f"and a text-only model."
        )
    return tokenizer


def _find_reasons(trainer: Any, chat: Chat, rows: int) -> Iterator[str]:
    args = trainer.args
    for name, neutral in NEUTRAL.items():
        value = getattr(args, name)
        if value != neutral and (value or neutral):
            yield (
                f"GRPOConfig({name}={value!r}): Rollout samples from the model of this process with its full "
                f"distribution and its own prompts, so this would have no effect. Leave it out, or let TRL sample: "
                f"GRPOTrainer(environment_factory=EnvironmentFactory(...))."
            )
    if args.temperature <= 0.0:
        yield f"GRPOConfig(temperature={args.temperature}): GRPO learns from samples. Set a temperature above 0."
    if trainer.tools:
        yield (
            "GRPOTrainer(tools=…) or (environment_factory=…): TRL would call tools in what Rollout has played. Leave "
            "it out, because Rollout calls a game's own tools; or leave out rollout_func."
        )
    if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        yield (
            "FSDP and DeepSpeed may shard the weights, and Rollout samples from whole weights in each process. Train "
            "with DDP or on one device, or let TRL sample: GRPOTrainer(environment_factory=EnvironmentFactory(...))."
        )
    if args.mask_truncated_completions and not chat.stops <= {*trainer.eos_token_ids}:
        yield (
            f"GRPOConfig(mask_truncated_completions=True): replies end with one of the tokens {sorted(chat.stops)}, "
            f"and TRL takes a row for truncated unless it ends with one of {sorted(trainer.eos_token_ids)}. Leave it "
            f"out, or add the others to model.generation_config.eos_token_id."
        )
    copies = trainer.num_generations if trainer.model.training else trainer.num_generations_eval
    if rows % copies:
        yield (
            f"{rows} rows on this process are not whole groups of num_generations={copies}, and a reward may compare "
            f"the matches of a group. Make the number of rows that a process generates at once "
            f"(per_device_train_batch_size × steps_per_generation) a multiple of it."
        )


def _has_one_turn(game: Game, on_illegal: FailurePolicy) -> bool:
    """Return whether a match has a single turn."""
    return game.max_decisions == 1 and on_illegal.kind in ("forfeit", "random")
