"""Commands that cannot write to stdout or disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gymposium.cli.main import app

COMMAND = f"{Path(sys.executable).with_name('gymposium')}"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in a folder."""
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    ["--help", "--version", "list", "list --json", "info hex", "plugins list", "lora --help", "run hex --help"],
)
def test_full_stdout_is_a_one_line_error(
    arguments: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    full = open("/dev/full", "w")  # noqa: SIM115 - closed below
    monkeypatch.setattr(sys, "stdout", full)
    with pytest.raises(SystemExit) as stop:
        typer.main.get_command(app)(arguments.split(), prog_name="gymposium")
    full.close()  # raises if it still holds text, as at the end of a process
    assert stop.value.code == 2
    [line] = [line for line in capfd.readouterr().err.splitlines() if "warning" not in line]
    assert line.startswith("error: The output cannot be written (No space left on device).")


@pytest.mark.slow
def test_unwritable_stdout_leaves_no_python_noise(tmp_path: Path) -> None:
    done = shell(f"{COMMAND} list > /dev/full; echo $?; {COMMAND} list | head -c 1", tmp_path)
    [line] = done.stderr.splitlines()
    assert line.startswith("error: The output cannot be written")
    assert done.stdout.startswith("2\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="limits of files are POSIX")
def test_full_disk_is_a_one_line_error(tmp_path: Path) -> None:
    made = shell(f"{COMMAND} run tic_tac_toe --players random,random -n 2 --out r", tmp_path)
    # Python would write broken bytecode of modules within the limit
    done = shell(f"ulimit -f 1; PYTHONDONTWRITEBYTECODE=1 {COMMAND} view r --export pages", tmp_path)
    assert (made.returncode, done.returncode, len(done.stderr.splitlines())) == (0, 2, 1)
    assert "cannot be written (File too large)" in done.stderr
