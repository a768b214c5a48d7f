"""The core imports no heavy library that it does not need, even where everything is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = "accelerate jax peft sentencepiece tensorflow tokenizers torch transformers".split()

PLAYS = """
import gymnasium, gymposium
from gymposium.match import MatchJob, play
players = [gymposium.make_player("mcts-5"), gymposium.make_player("random")]
for game in ("tic_tac_toe", "kuhn_poker"):
    assert len(list(play([MatchJob("m", gymposium.load_game(game), players, 0)]))) == 1
env = gymnasium.make("TextTicTacToe-v0")
env.reset(seed=0)
env.step("b2")
"""


def imported(program: str) -> set[str]:
    """Top-level modules that a fresh process has after running the program."""
    ask = "\nimport sys\nprint('\\n' + ' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", program + ask], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("program", ["import gymposium", PLAYS], ids=["import", "play"])
def test_no_deep_learning_library_is_imported(program: str) -> None:
    assert not imported(program) & set(HEAVY)


def test_importing_gymposium_imports_no_engine_and_no_command_line() -> None:
    assert not imported("import gymposium") & {"open_spiel", "pyspiel", "rich", "scipy", "typer"}


def test_scores_do_not_import_scipy_stats() -> None:
    imports = "from gymposium.records.scores import estimate_mean, estimate_rate"
    program = f"{imports}\nestimate_rate(1, 2), estimate_mean([1.0, 2.0])"
    assert "scipy" in imported(f"{program}\nimport sys\nassert 'scipy.stats' not in sys.modules")


ENGINES = {"gymnasium", "numpy", "open_spiel", "pettingzoo", "pyspiel", "scipy", *HEAVY}


def imported_by_command(tmp_path: Path, *arguments: str) -> tuple[set[str], str]:
    """Top-level modules that the script `gymposium` imports, as Python lists them, and its output."""
    script = Path(sys.executable).with_name("gymposium")
    command = [sys.executable, "-X", "importtime", str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    lines = [line.rpartition("|") for line in done.stderr.splitlines() if line.startswith("import time:")]
    told = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    return {name.strip().split(".")[0] for _, _, name in lines}, done.stdout + "\n".join(told)


@pytest.mark.parametrize(
    "arguments", ["--version", "--help", "list", "list --json", "plugins list", "--no-plugins list"]
)
def test_commands_without_environments_import_no_engine(arguments: str, tmp_path: Path) -> None:
    modules, output = imported_by_command(tmp_path, *arguments.split())
    assert output.strip()
    assert "gymposium" in modules
    assert not modules & ENGINES


def test_no_plugins_imports_no_plugin(tmp_path: Path) -> None:
    modules, _ = imported_by_command(tmp_path, "--no-plugins", "list")
    assert not {name for name in modules if name.startswith("gymposium_")}


@pytest.mark.parametrize("start", ["-c", "script", "worker"])
def test_environment_ids_are_registered_when_needed(start: str, tmp_path: Path) -> None:
    """In a script, in a verb of a plugin, and in a process that the verb starts."""
    (tmp_path / "looks.py").write_text(
        "import multiprocessing\n"
        "from gymposium import CommandSpec, hookimpl\n"
        "@hookimpl\n"
        "def gymposium_commands():\n"
        "    yield CommandSpec(name='look', summary='Look.', entry_point='looks:look')\n"
        "def look(worker: bool = False) -> None:\n"
        "    if worker:\n"
        "        with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "            print(pool.apply(count))\n"
        "    else:\n"
        "        print(count())\n"
        "def count():\n"
        "    import gymposium, gymnasium\n"
        "    return sum(name.startswith('Text') for name in gymnasium.registry)\n"
    )
    script = str(Path(sys.executable).with_name("gymposium"))
    verb = [sys.executable, script, "--plugin", "looks.py", "look"]
    command = {
        "-c": [sys.executable, "-c", "import looks; looks.look()"],
        "script": verb,
        "worker": [*verb, "--worker"],
    }[start]
    env = {**os.environ, "PYTHONPATH": str(tmp_path) if start != "script" else ""}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40


def test_training_dry_run_imports_torch_only_for_model_files(tmp_path: Path) -> None:
    """The model that is made on the spot is counted without it."""
    modules, output = imported_by_command(tmp_path, "train", "--dry-run", "--game", "tic_tac_toe")
    assert "a small one, made by the run, 165,504 parameters" in output
    assert not modules & set(HEAVY)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--game", "tic_tac_to"], "Unknown game 'tic_tac_to'"),
        pytest.param(
            ["--game", "tic_tac_toe", 'model.lora.targets=["w_proj"]'],
            "A LoRA cannot target w_proj",
            marks=pytest.mark.slow,
        ),
        (["--game", "tic_tac_toe", "steps=0", "cold_start.steps=0"], "there is nothing to learn"),
        pytest.param(["--game", "tic_tac_toe", "engine.staleness=1"], "engine.staleness = 1", marks=pytest.mark.slow),
        pytest.param(["--resume", "nowhere"], "nowhere is not a run directory", marks=pytest.mark.slow),
    ],
)
def test_training_errors_come_before_importing_torch(arguments: list[str], told: str, tmp_path: Path) -> None:
    modules, output = imported_by_command(tmp_path, "train", *arguments)
    assert told in output
    assert not modules & set(HEAVY)
