"""`pytest --pyargs gymposium_testing.trainers --trainer MODULE:NAME`, and its errors for wrong names."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ADAPTER = '''
"""An adapter at level (a): uniformly random play."""

class Random:
    self_play = False

    def train(self, task, budget):
        return lambda ask: [1 / len(ask.legal_moves)] * len(ask.legal_moves)


class Lost:
    self_play = False

    def train(self, task, budget):
        return lambda ask: [2.0]
'''


def command(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The command in a folder, with the entry points that the distribution declares."""
    project = tomllib.loads((ROOT / "packages/gymposium-testing/pyproject.toml").read_text())["project"]
    declared = project["entry-points"]["pytest11"]
    if not {*declared} <= {point.name for point in entry_points(group="pytest11")}:  # installed before they were
        metadata = folder / "path" / "declared-0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: declared\nVersion: 0\n")
        lines = [f"{name} = {target}" for name, target in declared.items()]
        (metadata / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]))
    path = os.pathsep.join(filter(None, [str(folder / "path"), os.environ.get("PYTHONPATH", "")]))
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    env.pop("PYTEST_CURRENT_TEST", None)
    pytest_command = ("-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--pyargs", "gymposium_testing.trainers")
    return subprocess.run(
        [sys.executable, *pytest_command, *options], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "adapter.py").write_text(ADAPTER)
    return tmp_path


@pytest.mark.slow
def test_command_checks_a_level_a_trainer(folder: Path) -> None:
    done = command(folder, "--trainer", "adapter:Random")
    assert done.returncode == 1
    assert "The policy gets 0% of the way to the optimum: 0.000, where random play gets 0.000" in done.stdout
    assert "2 failed, 1 skipped" in done.stdout
    assert "the trainer has no self-play" in done.stdout


@pytest.mark.slow
def test_command_reports_invalid_policies(folder: Path) -> None:
    done = command(folder, "--trainer", "adapter:Lost", "-k", "kuhn")
    assert "The policy gives [2.0] for the moves ['pass', 'bet']." in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "Use --trainer MODULE:NAME"),
        (("--trainer", "adapter:Nobody"), "has no attribute 'Nobody'"),
    ],
)
def test_command_names_the_trainer_it_cannot_find(options: tuple[str, ...], says: str, folder: Path) -> None:
    done = command(folder, *options)
    assert done.returncode == 2
    assert says in done.stdout + done.stderr
