"""The example distribution, installed: a run uses its credit, objective and engine, and validates their settings."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadOption, PluginError
from gymposium.plugins.host import Host, host
from gymposium_train.config.checks import check_config
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.reading import build_config, parse_toml_config
from gymposium_train.config.writing import config_to_toml
from gymposium_train.run.start import start_run

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "learning"
HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "credit-or-objective.md"
ALL = ("credit.kind=rank", "credit.scale=2", "objective.kind=awr", "engine.kind=tallied", "engine.every=5")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of packages into which pip has installed the example, without its dependencies."""
    site = tmp_path_factory.mktemp("example") / "site"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    subprocess.run([*pip, "--target", str(site), str(EXAMPLE)], check=True)
    return site


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A host that has found the installed example."""
    monkeypatch.syspath_prepend(site)
    host.cache_clear()
    yield host()
    host.cache_clear()
    for module in [module for module in sys.modules if module.partition(".")[0] == "example_learning"]:
        del sys.modules[module]


def test_run_uses_credit_objective_and_engine_of_the_plugin(
    installed: Host, quick_config: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (plugin,) = (plugin for plugin in installed.plugins if plugin.name == "example_learning")
    adds = plugin.adds()
    assert (adds["credits"], adds["objectives"], adds["engines"]) == (["rank"], ["awr"], ["tallied"])
    config = quick_config(
        "steps=1", "cold_start.steps=25", "evaluation.every=0", *ALL, without=("evaluation.curve_matches",)
    )
    assert parse_toml_config(config_to_toml(config)) == config
    with caplog.at_level(logging.INFO, "example_learning"):
        run = start_run(tmp_path / "run", config)
    (metrics,) = (entry for entry in run.metrics() if entry["stage"] == "train")
    assert metrics["train/rows"] > 0
    assert "train/clipfrac" not in metrics  # it does not clip
    assert any("replies" in record.message for record in caplog.records)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"credit": {"kind": "rank", "scale": -1}}, "credit.scale = -1: it must be a number, above 0."),
        ({"credit": {"kind": "rank", "scal": 1}}, "Did you mean credit.scale?"),
        ({"credit": {"kind": "ran"}}, "it must be one of rank, grpo, rloo, baseline, rae, gae, gigpo and off"),
        ({"objective": {"temperature": 2.0}}, "It belongs to objective.kind=awr, but objective.kind=ppo."),
        ({"engine": {"kind": "tallied", "every": 0}}, "every=0: set 1 or more replies."),
    ],
)
def test_plugin_settings_are_parsed_like_built_in_ones(installed: Host, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadConfig) as caught:
        build_config({"games": ["kuhn_poker"], **settings})
    assert message in str(caught.value)


def test_requirements_of_the_plugin_credit_are_checked(installed: Host) -> None:
    config = build_config({"games": ["kuhn_poker"], "credit": {"kind": "rank"}, "rollout": {"group_size": 1}})
    with pytest.raises(BadOption, match=r"credit\.kind=rank compares the matches of a group"):
        check_config(config, at_hand=False)


CLASH = """
from gymposium import CreditSpec, hookimpl

@hookimpl
def gymposium_credits():
    yield CreditSpec(name="grpo", summary="Another.", entry_point="clash:A", settings="clash:B")
"""


def test_credit_with_a_built_in_name_is_a_plugin_error(tmp_path: Path) -> None:
    file = tmp_path / "clash.py"
    file.write_text(CLASH, encoding="utf-8")
    with pytest.raises(PluginError, match="gymposium_credits yields 'grpo', which train already has"):
        Host().load_file(file)


@pytest.mark.parametrize("module", ["rank", "awr"])
def test_docs_show_the_example_files(module: str) -> None:
    code = (EXAMPLE / "src" / "example_learning" / f"{module}.py").read_text(encoding="utf-8")
    assert f"```{{code-block}} python\n{code}```" in HOW_TO.read_text(encoding="utf-8")
