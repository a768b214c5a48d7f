"""Commands with closed standard streams, in a deleted folder, and as `python -m`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = f"{Path(sys.executable).with_name('gymposium')}"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of sh in a folder."""
    return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_closed_streams_do_no_harm(closed: str, tmp_path: Path) -> None:
    done = shell(f"{COMMAND} run tic_tac_toe --players random,random -n 4 --out r {closed}", tmp_path)
    assert (done.returncode, done.stderr.count("broken"), "Traceback" in done.stderr) == (0, 0, False)
    assert len((tmp_path / "r" / "matches.jsonl").read_text().splitlines()) == 4
    assert done.stdout


@pytest.mark.parametrize("verb", ["list", "--help", "run tic_tac_toe --players random,random -n 4 --out r"])
@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_stdout_stops_verbs_before_any_work(verb: str, closed: str, tmp_path: Path) -> None:
    done = shell(f"{COMMAND} {verb} {closed}", tmp_path)
    assert (done.returncode, [*tmp_path.iterdir()]) == (2, [])
    said = "error: stdout is closed, so results would be lost. To discard them, append:  >/dev/null\n"
    assert done.stderr == ("" if "2>&-" in closed else said)


@pytest.mark.parametrize(
    "start", [COMMAND, *(f"{sys.executable} -P -m {name}" for name in ("gymposium", "gymposium_train"))]
)
@pytest.mark.parametrize("verb", ["list", "run tic_tac_toe --players random,random -n 2"])
def test_deleted_working_directory_is_a_clear_error(start: str, verb: str, tmp_path: Path) -> None:
    done = shell(f"mkdir gone && cd gone && rmdir ../gone && {start} {verb}", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.split("\n", 1)[0].endswith(
        "The working directory no longer exists. Change to another directory:  cd"
    )


PACKAGES = sorted(path.name for path in Path(__file__).resolve().parents[3].glob("packages/*/src/*"))


@pytest.mark.parametrize("module", PACKAGES)
def test_each_package_runs_as_a_module(module: str, tmp_path: Path) -> None:
    done = shell(f"{sys.executable} -m {module} --version", tmp_path)
    assert (done.returncode, done.stdout.startswith("gymposium "), done.stderr) == (0, True, "")
