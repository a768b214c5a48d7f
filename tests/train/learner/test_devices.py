"""Detection of GPUs shared by learner and vLLM server before either starts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from gymposium_agents.engines.vllm.home import HOME_VARIABLE, EngineHome
from gymposium_agents.engines.vllm.settings import ServerSettings, VllmSettings
from gymposium_train.config import Model, TrainConfig, make_engine_table
from gymposium_train.config.checks import check_config
from gymposium_train.config.devices import find_argument, find_device_problem, visible_gpus
from gymposium_train.config.problems import BadConfig

SHARE = ("--gpu-memory-utilization", "0.4")


def find_problem(visible: str, learners: int = 1, **engine: Any) -> str | None:
    return find_device_problem(VllmSettings(**engine), visible.split(), learners)


@pytest.mark.parametrize(
    ("variable", "count", "expected"),
    [(None, 2, ("0", "1")), ("2, 3", 2, ("2", "3")), ("", 0, ()), ("0,-1,1", 1, ("0",)), (None, 0, ())],
)
def test_visible_gpus_follow_the_environment(variable: str | None, count: int, expected: tuple[str, ...]) -> None:
    assert visible_gpus(variable, count) == expected


@pytest.mark.parametrize(
    ("visible", "learners", "engine"),
    [
        ("", 1, {}),
        ("0 1", 1, {"devices": ("1",)}),
        ("2 3", 1, {"devices": ("3",)}),
        ("0 1", 1, {"devices": ("5",)}),
        ("0 1 2", 2, {"devices": ("2",)}),
        ("GPU-a GPU-b", 1, {"devices": ("GPU-b",)}),
        ("0", 1, {"arguments": SHARE}),
        ("0", 1, {"arguments": ("--gpu_memory_utilization=0.4",)}),
        ("0 1 2", 1, {"devices": ("1", "2"), "arguments": ("-tp", "2")}),
        ("0 1 2", 1, {"devices": ("1", "2"), "servers": 2}),
        ("0 1 2 3 4", 1, {"devices": ("1", "2", "3", "4"), "servers": 2, "arguments": ("-tp", "2")}),
        ("0 1", 1, {"devices": ("0", "1"), "servers": 2, "arguments": SHARE}),
        ("", 1, {"servers": 2}),
    ],
)
def test_separate_gpus_or_a_chosen_share_are_accepted(visible: str, learners: int, engine: dict[str, Any]) -> None:
    assert find_problem(visible, learners, **engine) is None


@pytest.mark.parametrize(
    ("visible", "learners", "engine", "said"),
    [
        ("0", 1, {}, "share GPU 0.*Set engine.url .*--gpu-memory-utilization"),
        ("0 1", 1, {}, r'share GPU 0.*Set engine.devices=\["1"\]'),
        ("4 7", 1, {}, r'share GPU 4.*Set engine.devices=\["7"\]'),
        ("0 1 2", 2, {"devices": ("1",)}, r'share GPU 1.*Set engine.devices=\["2"\]'),
        ("0 1", 2, {"devices": ("1",)}, "share GPU 1.*Set engine.url"),
        ("0 1", 1, {"arguments": ("--gpu-memory-utilization", "1")}, "share GPU 0"),
        ("0 1 2", 1, {"arguments": ("--tensor-parallel-size=2",)}, r'share GPU 0.*engine.devices=\["1", "2"\]'),
        ("0 1 2", 1, {"arguments": ("-tp", "2"), "devices": ("2",)}, "requests 2 GPUs.*may use 2"),
        (
            "0 1 2",
            1,
            {"servers": 2},
            r'engine.servers = 2: name 2 GPUs in engine.devices, such as \["1", "2"\], 1 per server',
        ),
        ("0 1 2", 1, {"servers": 3}, r"engine.servers = 3: name 3 GPUs in engine.devices, 1 per server"),
        ("0 1 2", 1, {"servers": 2, "devices": ("0", "1")}, r'share GPU 0.*engine.devices=\["1", "2"\]'),
        ("0 1 2", 1, {"servers": 2, "devices": ("1", "0")}, "share GPU 0"),
        ("0 1 2", 1, {"servers": 2, "devices": ("1", "1")}, "duplicate GPU"),
        (
            "0 1 2",
            1,
            {"servers": 2, "devices": ("1", "2"), "arguments": ("-tp", "2")},
            "requests 2 GPUs, but each server may use 1",
        ),
        ("GPU-a GPU-b", 1, {"devices": ("1",)}, "names its GPUs GPU-a, GPU-b.*Use the same names"),
        ("0", 1, {"arguments": ("--gpu-memory-utilization", "much")}, "engine.arguments: .*much"),
    ],
)
def test_shared_gpu_error_names_the_setting(visible: str, learners: int, engine: dict[str, Any], said: str) -> None:
    found = find_problem(visible, learners, **engine)
    assert found is not None
    assert re.search(said, found)


def test_last_occurrence_of_an_argument_wins() -> None:
    arguments = ("--a", "1", "--b=2", "--a=3")
    assert (find_argument(arguments, "--a"), find_argument(arguments, "--b"), find_argument(arguments, "--c")) == (
        "3",
        "2",
        None,
    )


def test_server_sees_only_its_gpus() -> None:
    environment = {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert ServerSettings("m", devices=("1",)).environment(environment, "cuda")["CUDA_VISIBLE_DEVICES"] == "1"
    assert ServerSettings("m").environment(environment, "cuda")["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_run_with_a_shared_gpu_is_refused_before_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with one GPU, and vLLM's build for it."""
    home = EngineHome(tmp_path)
    home.python.parent.mkdir(parents=True)
    home.python.touch()
    home.marker.write_text(json.dumps({"build": "cuda", "version": "0.32.0"}))
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(BadConfig, match=r"engine.kind = vllm: learner and server would share GPU 0"):
        check_config(TrainConfig(games=("tic_tac_toe",), model=Model(tune="lora"), engine=make_engine_table("vllm")))
    check_config(
        TrainConfig(games=("tic_tac_toe",), model=Model(tune="lora"), engine=make_engine_table("vllm", arguments=SHARE))
    )
