"""The real command `inspect eval gymposium/match` with a model provider from another distribution."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from .scripted import verified

PROVIDER = '''
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi


@modelapi(name="scripted")
class Scripted(ModelAPI):
    """Plays the first legal move."""

    async def generate(self, input, tools, tool_choice, config):
        [line] = [line for line in input[-1].text.split("\\n") if line.startswith("Legal moves: ")]
        output = ModelOutput.from_content(self.model_name, line.removeprefix("Legal moves: ").split(", ")[0])
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output
'''


@pytest.fixture
def provider(tmp_path: Path) -> Path:
    """A folder in which a distribution with the provider is installed."""
    folder = tmp_path / "installed"
    about = folder / "scripted_model-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "scripted_model.py").write_text(PROVIDER, encoding="utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted-model\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[inspect_ai]\nscripted_model = scripted_model\n", encoding="utf-8")
    return folder


def inspect_command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name("inspect")), *arguments],
        env={**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_command_finds_and_plays_the_task(provider: Path, tmp_path: Path) -> None:
    given = "game=tic_tac_toe opponent=mcts-10 matches=16 seed=1 on_illegal=retry(1)".split()
    options = [part for one in given for part in ("-T", one)]
    log_dir = tmp_path / "logs"
    done = inspect_command(
        provider, "eval", "gymposium/match", *options, "--model", "scripted/first", "--log-dir", str(log_dir),
        "--display", "plain",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    [info] = list_eval_logs(str(log_dir))
    log = read_eval_log(info)
    assert (log.status, log.eval.task) == ("success", "gymposium/match")
    found = verified(log, tmp_path)
    assert len(found) == 16
    assert {name for record in found for name in record.players} == {"scripted/first", "mcts-10"}
    assert log.samples is not None
    assert log.samples[0].scores is not None


def test_command_reports_errors(provider: Path, tmp_path: Path) -> None:
    options = ["-T", "game=tic_tac_to", "--model", "scripted/first", "--log-dir", str(tmp_path / "logs")]
    done = inspect_command(provider, "eval", "gymposium/match", *options)
    assert done.returncode != 0
    assert "Did you mean 'tic_tac_toe'" in " ".join((done.stdout + done.stderr).split())
    assert not list_eval_logs(str(tmp_path / "logs"))
