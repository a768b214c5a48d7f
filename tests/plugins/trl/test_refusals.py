"""Incompatible settings are refused with a reason before the first step."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from gymposium.errors import BadOption, UnknownName
from gymposium.games.registry import load_game
from gymposium.match.failures import FailurePolicy
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_trl import Rollout
from gymposium_trl.prompts import MatchPrompt
from gymposium_trl.refusals import check_template

from .runs import COPIES, QUIET, trainer_for

pytestmark = QUIET


@pytest.mark.parametrize("context", ["state", "truncated", "last-2"])
def test_history_rewriting_contexts_are_refused(context: str) -> None:
    with pytest.raises(BadOption, match=rf"context={context}: each turn would be a separate row"):
        Rollout("tic_tac_toe", context=context)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"game": "tictactoe"}, "tic_tac_toe"),
        ({"opponents": "mctz-10"}, "mcts-N"),
        ({"opponents": ["random", "random"]}, "got 2 players for 1 other seat"),
        ({"reward": "retuns"}, "returns"),
        ({"on_illegal": "retry"}, "retry"),
        ({"prompt": "short"}, "full or compact"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"records": "/dev/null/matches.jsonl"}, "cannot be written"),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, Any], error: str) -> None:
    with pytest.raises((BadOption, UnknownName), match=error):
        Rollout(**{"game": "tic_tac_toe", **arguments})


def test_invalid_datasets_are_refused() -> None:
    rollout = Rollout("kuhn_poker")
    with pytest.raises(BadOption, match="size=0"):
        rollout.dataset(0, seed=1)
    for seats in (2, [], [0, 5]):
        with pytest.raises(BadOption, match="write a seat from 0 to 1"):
            rollout.dataset(4, seed=1, seats=seats)


def test_rows_identify_their_match() -> None:
    rollout = Rollout("goofspiel(num_cards=4)")
    rows = rollout.dataset(6, seed=1)
    assert rows["seat"] == [0, 1] * 3
    assert len({*rows["seed"]}) == 6
    assert rows["prompt"] == rollout.dataset(6, seed=1)["prompt"] != rollout.dataset(6, seed=2)["prompt"]
    for row in rows:
        expected = MatchPrompt("goofspiel(num_cards=4)", row["seat"], row["seed"])
        assert MatchPrompt.from_text(row["prompt"], rollout.game) == expected
    for strange in ("2 + 2 = ?", [{"role": "user", "content": "?"}], "kuhn_poker, seat 0, seed 1"):
        with pytest.raises(BadOption, match=r"Make the dataset with"):
            MatchPrompt.from_text(strange, rollout.game)
    with pytest.raises(BadOption, match="seats from 0 to 1"):
        MatchPrompt.from_text("goofspiel(num_cards=4), seat 2, seed 1", rollout.game)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"top_p": 0.9}, r"GRPOConfig\(top_p=0.9\)"),
        ({"top_k": 20}, r"GRPOConfig\(top_k=20\)"),
        ({"repetition_penalty": 1.1}, r"GRPOConfig\(repetition_penalty=1.1\)"),
        ({"generation_kwargs": {"num_beams": 2}}, "generation_kwargs"),
        ({"chat_template_kwargs": {"enable_thinking": False}}, "chat_template_kwargs"),
        ({"temperature": 0.0}, r"temperature=0.0\): GRPO learns from samples"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_settings_without_effect_are_refused(
    settings: dict[str, Any], reason: str, model_directory: Path, tmp_path: Path
) -> None:
    rollout = Rollout("kuhn_poker", prompt="compact", max_tokens=4, records=tmp_path / "matches.jsonl")
    trainer = trainer_for(rollout, model_directory, tmp_path / "run", **settings)
    with pytest.raises(BadOption, match=reason):
        trainer.train()
    assert trainer.state.global_step == 0
    assert not (tmp_path / "matches.jsonl").exists()


def test_groups_split_over_processes_are_refused(model_directory: Path, tmp_path: Path) -> None:
    rollout = Rollout("kuhn_poker", prompt="compact", max_tokens=4)
    trainer = trainer_for(rollout, model_directory, tmp_path)
    with pytest.raises(BadOption, match="6 rows on this process are not whole groups of num_generations=4"):
        rollout([trainer.train_dataset[0]["prompt"]] * 6, trainer)


@pytest.mark.parametrize("kind", ["is_fsdp_enabled", "is_deepspeed_enabled"])
def test_sharded_weights_are_refused(kind: str, model_directory: Path, tmp_path: Path) -> None:
    rollout = Rollout("kuhn_poker", prompt="compact", max_tokens=4)
    trainer = trainer_for(rollout, model_directory, tmp_path)
    setattr(trainer, kind, True)
    with pytest.raises(BadOption, match="samples from whole weights"):
        rollout([trainer.train_dataset[0]["prompt"]] * COPIES, trainer)


def test_masking_truncated_completions_is_refused(model_directory: Path, tmp_path: Path) -> None:
    rollout = Rollout("kuhn_poker", prompt="compact", max_tokens=4)
    trainer = trainer_for(rollout, model_directory, tmp_path, mask_truncated_completions=True)
    trainer.train()
    trainer.eos_token_ids = [0]
    with pytest.raises(BadOption, match="takes a row for truncated"):
        trainer.train()


def test_trl_tools_are_refused(model_directory: Path, tmp_path: Path) -> None:
    trainer = trainer_for(Rollout("kuhn_poker", prompt="compact", max_tokens=4), model_directory, tmp_path)
    trainer.tools = [print]
    with pytest.raises(BadOption, match="TRL would call tools"):
        trainer.train()


def test_template_without_tools_is_refused_in_tool_games(guess: str, model_directory: Path, tmp_path: Path) -> None:
    toolless = shutil.copytree(model_directory, tmp_path / "toolless")
    template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>"
    (toolless / "chat_template.jinja").write_text(template, encoding="utf-8")
    trainer = trainer_for(Rollout(guess, max_tokens=4), toolless, tmp_path)
    with pytest.raises(BadOption, match=r"reply=tools is not supported: the chat template .* has no tools"):
        trainer.train()
    assert trainer.state.global_step == 0


@pytest.mark.parametrize(
    ("family", "game", "reply", "on_illegal", "refused"),
    [
        ("qwen2.5", "tic_tac_toe", "tags", "retry(2)", None),
        ("qwen2.5", "guess", "tools", "retry(2)", None),
        ("qwen3", "tic_tac_toe", "move", "forfeit", "user"),
        ("qwen3", "guess", "tools", "forfeit", "tool"),
        ("gemma", "tic_tac_toe", "tags", "retry(2)", None),
        ("gpt-oss", "tic_tac_toe", "move", "forfeit", "user"),
        ("llama3", "tic_tac_toe", "tags", "forfeit", None),
        ("llama3", "guess", "tools", "forfeit", "tool"),  # it drops the thoughts before a call
        ("llama3", "guess", "json", "forfeit", None),
        ("qwen3", "trace", "tags", "forfeit", None),  # one turn, before which there is no history
        ("qwen3", "trace", "tags", "retry(1)", "user"),
    ],
)
def test_templates_must_keep_history(
    family: str, game: str, reply: str, on_illegal: str, refused: str | None, guess: str, family_tokenizer: Any
) -> None:
    arguments = load_game(game), PlayerSettings(reply=reply, context="full"), FailurePolicy.parse(on_illegal)
    chat = Chat(family_tokenizer(family))
    if refused is None:
        check_template(*arguments, chat)
    else:
        with pytest.raises(BadOption, match=f"rewrites earlier messages before a message of the {refused}"):
            check_template(*arguments, chat)
        if family != "gpt-oss":  # of whose template it is not known what ends a reply
            check_template(*arguments, Chat(family_tokenizer(family), history="kept"))


def test_trl_training_templates_are_accepted(family_tokenizer: Any) -> None:
    """The template of Qwen3 as TRL holds it, and what `get_training_chat_template` gives for it."""
    import trl
    from trl.chat_template_utils import get_training_chat_template

    original = family_tokenizer("qwen3")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=original.backend_tokenizer, eos_token=original.eos_token, pad_token=original.pad_token
    )
    tokenizer.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text("utf-8")
    arguments = load_game("tic_tac_toe"), PlayerSettings(reply="move"), FailurePolicy.parse("forfeit")
    with pytest.raises(BadOption, match="get_training_chat_template"):
        check_template(*arguments, Chat(tokenizer))
    tokenizer.chat_template = get_training_chat_template(tokenizer)
    check_template(*arguments, Chat(tokenizer))
