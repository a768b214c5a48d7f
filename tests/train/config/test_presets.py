"""Every preset is a valid config, as is the command in its comments that tries it on a CPU."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from typer.testing import CliRunner, Result

from gymposium.cli.main import app
from gymposium.errors import UnknownName
from gymposium_train.config import TrainConfig
from gymposium_train.config.presets import list_presets, read_preset, read_preset_summary, read_preset_text
from gymposium_train.config.reading import build_config, parse_toml_config

LARGE = ("openspiel-ppo-curriculum", "ruler", "self-play", "tic-tac-toe-grpo")
"""Presets of a pretrained model."""
PRESETS = ("curriculum", *LARGE)


def gymposium(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="gymposium")


def plan_config(*arguments: str) -> tuple[TrainConfig, str]:
    """The output of `gymposium train --dry-run`, with its comments."""
    done = gymposium("train", *arguments, "--dry-run")
    assert done.exit_code == 0, done.output
    return parse_toml_config(done.stdout), done.stdout


def test_presets_are_listed() -> None:
    assert list_presets() == list(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_preset_dry_run_output_is_its_config(name: str) -> None:
    config, text = plan_config("--preset", name)
    assert config == build_config(read_preset(name))
    assert (config.model.name is not None) == ("(not on this machine" in text) == (name in LARGE)
    assert read_preset_summary(name).endswith(".")


@pytest.mark.parametrize("name", PRESETS)
def test_cpu_command_is_valid_and_needs_no_download(name: str) -> None:
    [line] = re.findall(r"^#   gymposium train (.*)$", read_preset_text(name), re.MULTILINE)
    config, text = plan_config(*shlex.split(line))
    assert f"{line} ".startswith(f"--preset {name} ")
    assert config.model.name is None
    assert config.model.load is None
    assert config.engine.kind == "shared"
    assert "a small one, made by the run, 165,504 parameters" in text
    assert config.credit.kind == build_config(read_preset(name)).credit.kind
    small = TrainConfig(games=config.games)
    assert (config.cold_start, config.prompting.prompt) == (small.cold_start, "compact")
    assert config.optimizer.learning_rate == small.optimizer.learning_rate


def test_presets_have_their_documented_settings() -> None:
    ludic, ppo, alone = (build_config(read_preset(name)) for name in ("tic-tac-toe-grpo", LARGE[0], "self-play"))
    assert (ludic.credit.kind, ludic.rollout.group_size, ludic.rollout.groups % 2) == ("grpo", 8, 0)
    assert (ludic.prompting.reply, ludic.prompting.context, ludic.model.tune) == ("tags", "truncated", "lora")
    assert (ppo.credit.kind, ppo.objective.kind) == ("gae", "ppo")
    assert (ppo.optimizer.learning_rate, ppo.objective.clip_low, ppo.objective.clip_high) == (1e-5, 0.2, 0.2)
    assert (ppo.optimizer.epochs, ppo.model.lora.rank) == (4, 16)
    assert [set(stage.opponents) for stage in ppo.stages] == [{"random"}, {"random", "mcts-25"}, {"mcts-100"}]
    assert [stage.promote for stage in ppo.stages] == [0.7, 0.7, 0.7]
    assert all(stage.demote > 0 for stage in ppo.stages[1:])
    assert (alone.credit.kind, set(alone.stages[0].opponents)) == ("rae", {"self", "past"})


def test_unknown_preset_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'self-play'"):
        read_preset_text("selfplay")


def test_command_lists_presets_with_summaries() -> None:
    done = gymposium("train", "--presets", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {name: read_preset_summary(name) for name in PRESETS}
