"""Defaults that depend on the model: small, pretrained, or written by training."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from safetensors.numpy import save_file
from typer.testing import CliRunner

from gymposium.cli.main import app
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_train.config import ColdStart, Optimizer, Prompting, RolloutSettings, TrainConfig, defaults
from gymposium_train.config.checks import check_config
from gymposium_train.config.defaults import ALL_WEIGHTS, PRETRAINED
from gymposium_train.config.engine import make_engine_table
from gymposium_train.config.overrides import parse_override
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.reading import build_config, change_config, parse_json_config, parse_toml_config
from gymposium_train.config.writing import config_to_data, config_to_json, config_to_toml
from gymposium_train.credit.gae import GaeSettings
from gymposium_train.credit.grpo import GrpoSettings
from gymposium_train.objective.gspo import GspoSettings

HUB = "Qwen/Qwen3-0.6B"
SMALL = TrainConfig(games=("tic_tac_toe",))
NAMED = TrainConfig(games=("tic_tac_toe",), model={"name": HUB})  # type: ignore[arg-type]
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "train-a-pretrained-model.md"


def get_setting(config: TrainConfig, name: str) -> Any:
    """The value of a setting by its dotted name."""
    value: Any = config_to_data(config)
    for part in name.split("."):
        value = value[part]
    return value


def values(config: TrainConfig) -> dict[str, Any]:
    """The settings whose defaults depend on the model, without those of a critic."""
    return {name: get_setting(config, name) for name in PRETRAINED if not name.startswith("credit.")}


def plan_config(*arguments: str) -> TrainConfig:
    done = CliRunner().invoke(app, ["train", *arguments, "--dry-run"], prog_name="gymposium")
    assert done.exit_code == 0, done.output
    return parse_toml_config(done.stdout)


def make_config(**settings: Any) -> TrainConfig:
    return build_config({"games": ["tic_tac_toe"], **settings})


def test_hub_models_get_pretrained_defaults(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'games = ["tic_tac_toe"]\nmodel.name = "{HUB}"\n', encoding="utf-8")
    for config in (
        NAMED,
        make_config(model={"name": HUB}),
        change_config(SMALL, f"model.name={HUB}"),
        plan_config(str(file)),
        plan_config("--game", "tic_tac_toe", "--model", HUB),
        plan_config("--game", "tic_tac_toe", f"model.name={HUB}"),
    ):
        assert config == NAMED
    expected = {name: value for name, value in PRETRAINED.items() if not name.startswith("credit.")}
    assert values(NAMED) == expected
    assert (NAMED.cold_start.steps, NAMED.optimizer.learning_rate) == (0, 2e-4)
    assert (NAMED.prompting.prompt, NAMED.prompting.reply, NAMED.prompting.max_tokens) == ("full", "tags", None)
    check_config(NAMED, at_hand=False)


def test_unnamed_model_uses_class_defaults() -> None:
    assert (SMALL.prompting, SMALL.rollout, SMALL.optimizer) == (Prompting(), RolloutSettings(), Optimizer())
    assert SMALL.cold_start == ColdStart()


@pytest.mark.parametrize(
    "name", [name for name in PRETRAINED if not name.startswith("credit.") and get_setting(SMALL, name) is not None]
)
def test_explicit_values_win(name: str) -> None:
    small = get_setting(SMALL, name)
    override = f"{name}={json.dumps(small)}"
    assert get_setting(change_config(NAMED, override), name) == small
    assert get_setting(change_config(change_config(SMALL, override), f"model.name={HUB}"), name) == small
    assert change_config(change_config(NAMED, override), f"{name}=") == NAMED


def test_cleared_settings_revert_to_defaults() -> None:
    assert change_config(NAMED, "optimizer.learning_rate=3e-5", "steps=7", "model.name=") == change_config(
        SMALL, "optimizer.learning_rate=3e-5", "steps=7"
    )
    data = {"games": ["tic_tac_toe"], "model": {"name": HUB}, "optimizer": {"learning_rate": 3e-5}}
    assert build_config(data, [parse_override("optimizer.learning_rate=")]) == NAMED
    assert build_config(data, [parse_override("optimizer=")]) == NAMED
    assert build_config(data, [parse_override("optimizer.learning_rate="), parse_override("model.name=")]) == SMALL


def test_python_tables_are_completed_without_mutation() -> None:
    mine = Optimizer(epochs=3)
    named = TrainConfig(games=("tic_tac_toe",), model=NAMED.model, optimizer=mine, prompting=Prompting(max_tokens=9))
    assert (named.optimizer.epochs, named.optimizer.learning_rate, named.rollout.groups) == (3, 2e-4, 16)
    assert (named.prompting.max_tokens, named.prompting.reply) == (9, "tags")
    assert mine == Optimizer(epochs=3)
    assert TrainConfig(games=("tic_tac_toe",), optimizer=named.optimizer).optimizer == mine
    again = pickle.loads(pickle.dumps(named))
    assert change_config(again, "model.name=").optimizer == mine


def test_pretrained_models_learn_without_a_critic() -> None:
    assert SMALL.credit.kind == "gae"
    assert NAMED.credit == GrpoSettings()
    assert change_config(NAMED, "model.name=") == SMALL
    assert change_config(NAMED, "credit.lam=0.5").credit.kind == "gae"
    assert parse_json_config(config_to_json(NAMED)) == NAMED


def test_pretrained_critic_has_a_lower_learning_rate() -> None:
    small, named = (make_config(credit={"kind": "gae"}, model=model) for model in ({}, {"name": HUB}))
    for config, rate in ((small, 1e-2), (named, 1e-4), (change_config(small, f"model.name={HUB}"), 1e-4)):
        assert isinstance(config.credit, GaeSettings)
        assert config.credit.critic.learning_rate == rate
    given = make_config(
        credit={"kind": "gae", "gamma": 0.9, "lam": 0.8, "critic": {"learning_rate": 1e-2}}, model={"name": HUB}
    )
    assert given.credit == small.credit


def test_full_training_has_a_lower_rate_than_lora() -> None:
    assert make_config(model={"name": HUB, "tune": "full"}).optimizer.learning_rate == 2e-5
    assert make_config(model={"tune": "full"}).optimizer.learning_rate == SMALL.optimizer.learning_rate


def test_written_configs_are_complete_and_round_trip() -> None:
    data = json.loads(config_to_json(NAMED))
    assert (data["optimizer"]["learning_rate"], data["rollout"]["growth"]) == (2e-4, 1.0)
    back = (parse_json_config(config_to_json(NAMED)), parse_toml_config(config_to_toml(NAMED)))
    assert back == (NAMED, NAMED)
    for config in back:  # they are given now
        small = change_config(config, "model.name=")
        assert values(small) == values(NAMED)
        check_config(small, at_hand=False)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with 12 parameters and a `player.json`."""
    PlayerSettings("compact", "json", 30, "last-2", thinking=False).save(tmp_path)
    save_file({"one": np.zeros((2, 4), np.float32), "two": np.zeros(4, np.float16)}, tmp_path / "model.safetensors")
    return tmp_path


def test_small_trained_model_keeps_prompting_without_cold_start(directory: Path) -> None:
    config = make_config(model={"name": str(directory)})
    assert config.prompting == Prompting(prompt="compact", reply="json", context="last-2", max_tokens=30)
    assert config.cold_start == ColdStart(steps=0)
    assert (config.rollout, config.optimizer, config.evaluation) == (SMALL.rollout, SMALL.optimizer, SMALL.evaluation)
    assert (
        change_config(SMALL, f"model.name={json.dumps(str(directory))}", "prompting.reply=tags").prompting.reply
        == "tags"
    )


def test_large_trained_model_keeps_prompting_with_pretrained_defaults(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(defaults, "SMALL", 12)
    config = make_config(model={"name": str(directory)})
    assert config.prompting == Prompting(
        prompt="compact", reply="json", context="last-2", max_tokens=30, temperature=1.0, on_illegal="forfeit"
    )
    assert (config.cold_start, config.rollout) == (NAMED.cold_start, NAMED.rollout)
    assert (config.optimizer, config.entropy) == (NAMED.optimizer, NAMED.entropy)


@pytest.mark.parametrize("lost", ["player.json", "model.safetensors"])
def test_other_directories_hold_pretrained_models(directory: Path, lost: str) -> None:
    (directory / lost).unlink()
    config = make_config(model={"name": str(directory)})
    assert (config.optimizer, config.rollout) == (NAMED.optimizer, NAMED.rollout)
    assert (config.prompting == NAMED.prompting) == (lost == "player.json")


def test_unreadable_files_are_handled(directory: Path) -> None:
    (directory / "model.safetensors").write_bytes(b"{")
    assert make_config(model={"name": str(directory)}).optimizer == NAMED.optimizer
    (directory / "player.json").write_text("{", encoding="utf-8")
    with pytest.raises(BadConfig, match=r"player\.json is not valid JSON"):
        make_config(model={"name": str(directory)})
    with pytest.raises(ValidationError, match=r"player\.json is not valid JSON"):
        TrainConfig(games=("tic_tac_toe",), model={"name": str(directory)})  # type: ignore[arg-type]
    complete = config_to_data(NAMED) | {"model": {"name": str(directory), "tune": "lora"}}
    assert build_config(complete).optimizer == NAMED.optimizer  # nothing was left out, so nothing is looked up


def test_docs_list_the_defaults() -> None:
    page = PAGE.read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([a-z_.]+)` \| [^|]+ \| `([^`]+)` \|", page, re.MULTILINE))
    expected = {name: json.dumps(value).strip('"') for name, value in PRETRAINED.items() if value is not None}
    assert told["prompting.max_tokens"] == str(PlayerSettings().max_tokens)  # unless replies are bare moves
    assert {name: told.get(name) for name in expected} == expected


def test_cold_start_follows_the_trained_weights() -> None:
    data: dict[str, Any] = {"games": ["tic_tac_toe"], "model": {"name": HUB}}
    lora = build_config(data).cold_start
    assert (lora.tune, lora.learning_rate) == ("lora", PRETRAINED["cold_start.learning_rate"])
    for whole in ({"model": {"name": HUB, "tune": "full"}}, {"cold_start": {"tune": "full"}}):
        found = build_config(data | whole).cold_start
        assert (found.tune, found.learning_rate) == ("full", ALL_WEIGHTS)
    assert SMALL.cold_start.tune == "full"
    assert change_config(SMALL, "cold_start.tune=full").cold_start.learning_rate == SMALL.cold_start.learning_rate


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, Path.touch])
def test_special_files_as_weights_do_not_block(tmp_path: Path, make: Callable[[Path], object]) -> None:
    PlayerSettings().save(tmp_path)
    make(tmp_path / "model.safetensors")
    config = TrainConfig(games=("tic_tac_toe",), model={"name": str(tmp_path)})  # type: ignore[arg-type]
    assert get_setting(config, "optimizer.learning_rate") == get_setting(NAMED, "optimizer.learning_rate")


@pytest.mark.parametrize(
    ("settings", "temperature"),
    [
        ([], 0.0),
        (["prompting.temperature=0.7"], 0.0),
        (["evaluation.temperature=0.3"], 0.3),
        (["prompting.thinking=true", "prompting.reply=tags"], 0.6),
        (["prompting.thinking=true", "prompting.reply=tags", "evaluation.temperature=0"], 0.0),
    ],
)
def test_thinking_models_are_not_evaluated_greedily(settings: list[str], temperature: float) -> None:
    config = build_config(
        {"games": ["tic_tac_toe"], "model": {"name": "m"}}, [parse_override(text) for text in settings]
    )
    assert config.evaluated_player.temperature == temperature


@pytest.mark.parametrize(("kind", "schedule"), [("shared", "rounds"), ("own", "rounds"), ("vllm", "streaming")])
def test_server_engines_default_to_streaming(kind: str, schedule: str) -> None:
    assert make_engine_table(kind).schedule == schedule
    assert make_engine_table(kind, schedule="rounds").schedule == "rounds"


def test_gspo_defaults_follow_its_paper() -> None:
    config = change_config(SMALL, "objective.kind=gspo")
    assert isinstance(config.objective, GspoSettings)
    assert (config.objective.clip_low, config.objective.clip_high) == (3e-4, 4e-4)
    assert (config.objective.aggregate, config.mismatch.kind) == ("turn", "decoupled")
    assert parse_json_config(config_to_json(config)) == config
    assert change_config(config, "mismatch.kind=bypass").mismatch.kind == "bypass"
    assert change_config(SMALL, "objective.kind=gspo", "mismatch.kind=bypass").mismatch.kind == "bypass"
    assert SMALL.mismatch.kind == change_config(config, "objective.kind=ppo").mismatch.kind == "bypass"
