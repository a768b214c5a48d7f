"""The command `gymposium lora`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import run_command

from gymposium_agents.chat.tokens import Policy
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.lora.store import AdapterStore
from gymposium_agents.models.loading import load_model


def lora(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "160", **environment}
    return run_command("lora", *arguments, folder=Path.cwd(), env=env, learns=True)


@pytest.fixture(scope="module")
def store(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> AdapterStore:
    made = AdapterStore(tmp_path_factory.mktemp("stores") / "adapters")
    model = attach_lora(load_model(model_directory).model, rank=4, alpha=8, seed=0)
    for version in (10, 12):
        made.publish(model, version)
    return made


@pytest.mark.slow
def test_versions_are_listed_and_rolled_back(store: AdapterStore) -> None:
    done = lora("list", store.directory)
    assert [line.split()[:3] for line in done.stdout.splitlines()[1:]] == [
        ["learner", "10", str(store.path(Policy("learner", 10)))],
        ["learner", "12", "current"],
    ]
    back = lora("rollback", store.directory, "10")
    assert (back.returncode, back.stderr) == (0, "learner: version 10 is now current.\n")
    again = lora("rollback", store.directory, "10", "--json")
    path = str(store.directory / "learner-v000010")
    assert json.loads(again.stdout) == {"name": "learner", "version": 10, "path": path}
    told = json.loads(lora("list", store.directory, "--json").stdout)
    assert [(one["version"], one["current"]) for one in told["adapters"]] == [(10, True), (12, False)]
    assert told["adapters"][0]["path"] == str(store.directory / "learner-v000010")


def test_show_describes_an_adapter(store: AdapterStore, model_directory: Path) -> None:
    path = store.path(Policy("learner", 12))
    done = lora("show", path)
    assert done.returncode == 0, done.stderr
    for part in (str(model_directory), "rank         4, alpha 8", "q_proj", "F32", "vLLM         can serve it"):
        assert part in done.stdout
    told = json.loads(lora("show", path, "--json").stdout)
    assert (told["rank"], told["alpha"], told["layers"], told["vllm"]) == (4, 8.0, 12, True)
    loaded = load_model(model_directory, path).model
    assert told["parameters"] == sum(p.numel() for name, p in loaded.named_parameters() if "lora_" in name)


@pytest.mark.slow
def test_merged_model_can_play(store: AdapterStore, model_directory: Path, tmp_path: Path) -> None:
    adapter = store.path(Policy("learner", 12))
    done = lora("merge", model_directory, adapter, tmp_path / "merged", "--json", TQDM_DISABLE="")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"model": str(tmp_path / "merged")}
    assert done.stderr == "", "libraries show no bars"
    assert load_model(tmp_path / "merged").chat.prompt("x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("list", "{empty}"), "has no published adapters"),
        (("rollback", "{store}", "11"), "Its versions of 'learner': 10, 12"),
        (
            ("rollback", "{store}", "10", "--name", "critic"),
            "contains the adapters learner. Choose one",
        ),
        (("show", "{empty}"), "adapter_config.json is missing"),
        (("show", "nowhere"), "No adapter at 'nowhere'"),
        (("merge", "nowhere", "{store}", "{empty}"), "There is no model at 'nowhere'"),
    ],
)
def test_bad_input_suggests_a_fix(
    store: AdapterStore, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = lora(*(argument.format(store=store.directory, empty=tmp_path) for argument in arguments))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_help_shows_examples_without_loading_torch() -> None:
    done = lora("--help")
    for verb in ("list", "rollback", "show", "merge", "push"):
        assert verb in done.stdout
    assert "gymposium lora push runs/first/adapter alice/tic-tac-toe" in lora("push", "--help").stdout
    heavy = "{'torch', 'peft', 'transformers'}"
    check = f"import sys; import gymposium_agents.cli.lora; print(sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert loaded.stdout == "[]\n"
