"""Unplayable settings are refused with a reason before the first request."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf
from verifiers.v1.configs.cli.eval import EvalConfig

from gymposium.errors import BadOption
from gymposium.plugins.allowed import VARIABLE
from gymposium.rewards.protocol import CheckedReward
from gymposium_verifiers import ChatHarness, load_environment
from gymposium_verifiers.config import ChatHarnessConfig

from .evaluations import ID, evaluate


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"game": "gofspiel"}, "Unknown game 'gofspiel'. Did you mean 'goofspiel'?"),
        ({"game": "goofspiel(num_cards=0)"}, "num_cards"),
        ({"game": "chess", "opponents": "mtcs-20"}, "Unknown player 'mtcs-20'"),
        ({"game": "chess", "opponents": "human"}, "opponents human: a person can play only one match"),
        ({"game": "hearts", "opponents": "random,random"}, "got 2 players for 3 other seats"),
        ({"game": "chess", "seats": 2}, "a seat from 0 to 1"),
        ({"game": "chess", "seats": "0,0"}, "each once"),
        ({"game": "chess", "seats": []}, "write 'each', 'all'"),
        ({"game": "chess", "seats": "both"}, "write 'each', 'all'"),
        ({"game": "chess", "reply": "tools"}, "chess has no tools"),
        ({"game": "chess", "reply": "xml"}, "Unknown reply form 'xml'"),
        ({"game": "chess", "on_illegal": "ignore"}, "Unknown policy"),
        ({"game": "chess", "reward": "retruns"}, "Did you mean 'returns'?"),
        ({"game": "chess", "seed": -1}, "seed: Input should be greater than or equal to 0"),
        ({"game": "chess", "opponent": "random"}, "opponent: Extra inputs are not permitted"),
    ],
    ids=lambda value: None if isinstance(value, str) else "-".join(f"{name}={value[name]}" for name in value),
)
def test_unplayable_settings_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadOption) as refused:
        load_environment(**settings)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"game": "openenv:http://127.0.0.1:9"},
        {"game": "gym:some_module:Some-v0"},
        {"game": "chess", "opponents": "sb3:somewhere.zip"},
    ],
    ids=lambda settings: settings.get("opponents", settings["game"]),
)
def test_configs_open_nothing_without_permission(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(BadOption, match=r"needs your permission|is not installed"):
        load_environment(**settings)


def test_harness_without_tools_is_refused_only_in_worlds() -> None:
    null = {"player0": {"harness": {"id": "null"}}}
    with pytest.raises(ValueError, match="mail offers tools, which that harness does not pass on"):
        EvalConfig(env={"taskset": {"id": ID, "game": "mail"}, **null})
    EvalConfig(env={"taskset": {"id": ID, "game": "mail", "reply": "tags"}, **null})
    EvalConfig(env={"taskset": {"id": ID, "game": "kuhn_poker"}, **null})


def test_container_runtimes_are_refused() -> None:
    boxed = {"runtime": {"type": "docker"}}
    with pytest.raises(ValueError, match=r"player1.runtime: the harness runs in this process"):
        EvalConfig(env={"taskset": {"id": ID, "game": "kuhn_poker"}, "player1": boxed})
    EvalConfig(env={"taskset": {"id": ID, "game": "kuhn_poker", "seats": 0}, "player1": boxed})


def test_refuses_rewards_that_compare_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    class Judge:
        def submit(self, group: object) -> None:
            raise AssertionError("nobody is judged")

        __call__ = submit

    monkeypatch.setattr("gymposium_verifiers.matches.make_reward", lambda text: CheckedReward(text, Judge()))
    with pytest.raises(BadOption, match="a verifiers episode is one match"):
        load_environment("chess", reward="ruler")


def test_refuses_tasks_of_other_matches() -> None:
    env = load_environment("kuhn_poker", seats=0)
    context = vf.ModelContext(model="none", client=vf.EvalClientConfig(base_url="http://127.0.0.1:9/v1"))
    [chess] = load_environment("chess").taskset.take(1)
    [other] = load_environment("kuhn_poker", seats=1).taskset.take(1)

    async def told(task: vf.Task) -> str:
        episode = await env.run_episode(task, context)
        assert not episode.ok
        assert not episode.traces
        return str(episode.errors[0].message)

    assert "This task belongs to chess, but the environment plays kuhn_poker" in asyncio.run(told(chess))
    assert "Load the tasks with the environment's settings" in asyncio.run(told(other))


def test_harness_refuses_other_tasks() -> None:
    data = vf.TaskData(prompt="What is 2 + 2?")
    with pytest.raises(BadOption, match="Choose another one"):
        asyncio.run(ChatHarness(ChatHarnessConfig(id=ID)).session(None, None, None, "", "", {}, data))


def test_other_verifiers_environments_refuse_matches(tmp_path: Path) -> None:
    env = {"id": "best-of-n", "agent": {"runtime": {"type": "subprocess"}}}
    episodes, requests = evaluate(tmp_path / "run", tasks=1, game="kuhn_poker", env=env)
    assert not episodes[0].ok
    assert not requests


def test_command_reports_errors_in_one_line(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("vf-eval")
    done = subprocess.run(
        [command, ID, "--env.taskset.game", "gofspiel", "-n", "1", "-o", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "Did you mean 'goofspiel'?" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert not any(tmp_path.iterdir())
