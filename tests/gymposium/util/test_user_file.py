"""The user's `gymposium.toml`: plugin files and option defaults."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gymposium.cli.conftest import Run, gymposium as gymposium  # the fixture of the command

NIM = Path(__file__).parents[3] / "docs" / "examples" / "nim.py"
ON = {"GYMPOSIUM_CONFIG": "mine.toml"}


def write(folder: Path, text: str) -> None:
    (folder / "mine.toml").write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_plugins_and_defaults_apply_to_commands_and_workers(gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "nim.py").write_text(NIM.read_text(encoding="utf-8"), encoding="utf-8")
    write(tmp_path, 'plugins = ["nim.py"]\n[run]\nseed = 7\nmatches = 4\non_illegal = "retry(2)"\n')
    told = gymposium("run", "nim", "--players", "mcts-5,random", "-n", "6", "--jobs", "2", "--json", env=ON)
    assert told.returncode == 0, told.stderr
    data = json.loads(told.stdout)
    assert (data["seed"], data["matches"], data["on_illegal"]) == (7, 6, "retry(2)")
    path = tmp_path / "mine.toml"
    assert f"Defaults of {path}: seed = 7, matches = 4, on_illegal = retry(2)\n" in told.stderr
    listed = json.loads(gymposium("plugins", "list", "--json", env=ON).stdout)["plugins"]
    assert [one["status"] for one in listed if one["name"] == "nim"] == ["active"]
    assert '"nim"' not in gymposium("--no-plugins", "list", "--json", env=ON).stdout
    assert gymposium("--plugin", "nim.py", "info", "nim", env=ON).returncode == 0, "it is loaded once"


@pytest.mark.slow
def test_python_gets_the_plugins_but_not_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config" / "gymposium"
    config.mkdir(parents=True)
    (config / "gymposium.toml").write_text(f"plugins = ['{NIM}']\n[run]\nseed = 7\n", encoding="utf-8")
    monkeypatch.delenv("GYMPOSIUM_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    code = "import gymposium; print(gymposium.play('nim', ['random', 'random']).as_dict()['seed'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_file_in_the_working_directory_is_not_read(
    gymposium: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GYMPOSIUM_CONFIG", raising=False)
    (tmp_path / "gymposium.toml").write_text("this is not TOML", encoding="utf-8")
    assert gymposium("list", env={"XDG_CONFIG_HOME": str(tmp_path / "none")}).returncode == 0


def test_broken_plugin_is_skipped(gymposium: Run, tmp_path: Path) -> None:
    write(tmp_path, 'plugins = ["gone.py"]\n')
    done = gymposium("info", "tic_tac_toe", env={**ON, "GYMPOSIUM_PLUGINS_STRICT": ""})
    assert done.returncode == 0
    assert "gone.py) is broken and was left out: the file does not exist" in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "GYMPOSIUM_CONFIG: {file} cannot be read (No such file or directory)."),
        ("x = [", "{file} is not valid TOML: "),
        ("plugins = 3", "{file}: plugins=3 must be a list of files"),
        ("prices = 3", "{file}: prices=3 must be a table"),
        ("[prices]\ngpt = 3", "{file}: prices={{'gpt': 3}} must be a table"),
        ("seed = 3", "{file}: seed is outside a table. Put defaults under the command's name, such as [run]."),
        ("[rnu]\nseed = 3", "Unknown command in {file} 'rnu'. Did you mean 'run'"),
        ("[run]\nsed = 3", "Unknown option of {file}: [run] 'sed'. Did you mean 'seed'"),
        ("[run]\nseed = 'x'", "{file}: [run] seed is 'x'. Use an integer."),
        ("[run]\nplayers = 'x,y'", "{file}: [run] players cannot have a default here"),
        ("[run]\njson = true", "{file}: [run] json cannot have a default here"),
        ("[leaderboard]\nrun = 3", "{file}: [leaderboard]: run is a command. Use a table for it."),
    ],
)
def test_invalid_content_is_reported(gymposium: Run, tmp_path: Path, text: str | None, told: str) -> None:
    if text is not None:
        write(tmp_path, text)
    verb = ("leaderboard", "rate", "b") if text is not None and "leaderboard" in text else ("run",)
    done = gymposium(*verb, env=ON)
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith(f"error: {told.format(file=tmp_path / 'mine.toml')}")


def test_defaults_of_missing_commands_are_ignored(gymposium: Run, tmp_path: Path) -> None:
    write(tmp_path, '[train]\nrun = "here"\n')
    told = gymposium("list", env={**ON, "GYMPOSIUM_PLUGINS": ""})
    assert told.returncode == 0, told.stderr
