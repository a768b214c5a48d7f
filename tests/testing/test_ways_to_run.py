"""The three ways to run the kit on a plugin, each in a separate process and folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import run_command

from gymposium_testing import CHECKS

NIM = Path(__file__).parents[2] / "docs" / "examples" / "nim.py"
EXAMPLES = 2
OF_GAMES = [check for check in CHECKS if check.kind in ("spec", "game")]


def environment() -> dict[str, str]:
    """An environment with no plugins but the built-in one and the kit's."""
    env = {**os.environ, "GYMPOSIUM_PLUGINS": "testing", "COLUMNS": "160", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    env.pop("PYTEST_CURRENT_TEST", None)
    return env


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *options]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def gymposium(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, folder=folder, env=environment())


def broken_nim(folder: Path) -> Path:
    """Nim with a slot in its rules that nobody fills."""
    source = NIM.read_text(encoding="utf-8")
    assert "{self.sticks} sticks" in source
    path = folder / "broken_nim.py"
    path.write_text(source.replace("{self.sticks} sticks", "{{sticks}} sticks").replace('"nim:', '"broken_nim:'))
    return path


@pytest.mark.slow
def test_suite_runs_without_test_code(tmp_path: Path) -> None:
    suite = ("--pyargs", "gymposium_testing.suite", "-p", "gymposium_testing.conformance", "-q", "-rfs")
    done = run_pytest(tmp_path, *suite, "--plugin-file", str(NIM), "--effort", "quick")
    assert done.returncode == 0, done.stdout + done.stderr
    counted = sum(1 if check.kind == "spec" else EXAMPLES for check in OF_GAMES)
    words = done.stdout.splitlines()[-1].split()
    assert int(words[0]) + int(words[2]) == counted
    assert "the game says chance=False" in done.stdout
    broken = broken_nim(tmp_path)
    failed = run_pytest(tmp_path, *suite, "--plugin-file", str(broken), "--game", "nim", "--effort", "quick")
    assert failed.returncode == 1
    assert "FAILED" in failed.stdout
    assert "an empty slot: '{sticks}'" in failed.stdout


TESTS = """
from gymposium_testing import GameConformance, QUICK

class TestNim(GameConformance):
    game = "nim"
    file = {file!r}
    effort = QUICK

    def facts(self, game, seat):
        yield f"{{game.params['sticks']}} sticks"
        yield "You move first." if seat == 0 else "You move {second}."
"""


@pytest.mark.parametrize(("second", "code"), [pytest.param("second", 0, marks=pytest.mark.slow), ("never", 1)])
def test_suite_runs_as_a_base_class(tmp_path: Path, second: str, code: int) -> None:
    (tmp_path / "test_nim.py").write_text(TESTS.format(file=str(NIM), second=second))
    done = run_pytest(tmp_path, "-q", "-k", "replay or facts or returns")
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        assert "seat 1 is not told 'You move never.'" in done.stdout
        assert "2 failed" in done.stdout
    listed = run_pytest(tmp_path, "-q", "--collect-only").stdout
    assert "test_nim.py::TestNim::test_conforms[nim (spec)-prompts-prompts_state_the_parameters]" in listed
    assert "test_nim.py::TestNim::test_conforms[nim(sticks=4)-replay-prefixes_load_and_continue]" in listed
    assert "test_nim.py::TestNim::test_tells_the_facts[nim(sticks=4)]" in listed


@pytest.mark.slow
def test_suite_runs_as_a_command(tmp_path: Path) -> None:
    check = ("plugins", "check", "--quick")
    done = gymposium(tmp_path, "--plugin", str(NIM), *check, "--json", "--matches", "7")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert (told["effort"], told["matches"], told["failed"]) == ("quick", 7, 0)
    assert {entry["check"] for entry in told["checks"]} == {check.name for check in OF_GAMES}
    assert {entry["subject"] for entry in told["checks"]} == {"nim (spec)", "nim", "nim(sticks=4)"}
    failed = gymposium(tmp_path, "--plugin", str(broken_nim(tmp_path)), *check, "--only", "prompts")
    assert failed.returncode == 1
    assert "✗" in failed.stdout
    assert "rules_are_well_formed" in failed.stdout
    assert "to do:" in failed.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--quick", "--thorough"), "conflicts with"),
        (("--only", "everything"), "plugins check --list"),
        (("knu_poker",), "Did you mean 'kuhn_poker'"),
        (("gym:CartPole-v1",), "gymnasium.utils.env_checker"),
        ((), "no installed plugin adds a game"),
    ],
)
def test_invalid_arguments_are_refused(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = gymposium(tmp_path, "plugins", "check", *arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_list_shows_every_check(tmp_path: Path) -> None:
    done = gymposium(tmp_path, "plugins", "check", "--list", "--json")
    assert [entry["check"] for entry in json.loads(done.stdout)["checks"]] == [check.name for check in CHECKS]


def test_light_checks_need_neither_pytest_nor_hypothesis(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['hypothesis'] = sys.modules['pytest'] = None\n"
        "from gymposium_testing import assert_no_leaks\n"
        "from gymposium import load_game\n"
        "assert_no_leaks(load_game('kuhn_poker'), matches=3)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


@pytest.mark.parametrize("when", ["", "if table.left < self.sticks: "], ids=["as it is made", "as it is played"])
def test_failure_names_the_line_in_the_game(tmp_path: Path, when: str) -> None:
    source = NIM.read_text(encoding="utf-8").replace('"nim:', '"failing:')
    begin = source.index("\n", source.index("def play(")) + 1
    (tmp_path / "failing.py").write_text(f"{source[:begin]}        {when}raise KeyError('lost')\n{source[begin:]}")
    command = ("--plugin", "failing.py", "plugins", "check", "nim", "--quick", "--only", "length")
    done = gymposium(tmp_path, *command)
    assert done.returncode == 1
    line = source[:begin].count("\n") + 1
    assert f"play in {tmp_path / 'failing.py'}, line {line}" in done.stderr


def test_many_games_split_into_narrow_tables(tmp_path: Path) -> None:
    check = ("plugins", "check", "builtin", "--only", "parameter_bounds_are_playable", "--quick")
    env = {**os.environ, "GYMPOSIUM_PLUGINS": "testing", "COLUMNS": "80"}
    done = run_command(*check, folder=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if "parameter_bounds_are_playable" in line]
    assert len(rows) > 1
    assert "…" not in done.stdout
    assert max(map(len, rows)) <= 80


TWO_GAMES = """
from gymposium import GameSpec, hookimpl
from gymposium.games.lines.tic_tac_toe import game as fine

def two(spec, params):
    raise TypeError("of no use")

@hookimpl
def gymposium_games():
    for name in ("two", "fine"):
        yield GameSpec(name=name, title="A game", summary="A game.", entry_point=f"two:{name}", namespace="x")
"""


def test_uncreatable_game_does_not_stop_other_checks(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(TWO_GAMES)
    command = ("--plugin", "two.py", "plugins", "check", "--quick", "--only", "returns")
    done = gymposium(tmp_path, *command, "--json")
    assert done.returncode == 1
    outcomes = {(entry["subject"], entry["check"]): entry["result"] for entry in json.loads(done.stdout)["checks"]}
    assert outcomes.pop(("two", "loads")) == "failed"
    assert {game for game, _ in outcomes} == {"fine"}
    assert set(outcomes.values()) == {"passed"}
    assert "the game cannot be made: TypeError: 'of no use'" in gymposium(tmp_path, *command).stderr
