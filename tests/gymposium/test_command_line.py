"""Printed commands repeat the global options of the process."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from gymposium.allowed import VARIABLE, VARIABLES
from gymposium.child_process import PLUGIN_FILES
from gymposium.command_line import command_line
from gymposium.plugins.host import ONLY


def test_all_global_options_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ONLY, "")
    monkeypatch.setenv(PLUGIN_FILES, "/games/my nim.py\n/games/b.py")
    monkeypatch.setenv(VARIABLE, "lm:*\nhuman")
    monkeypatch.setenv(VARIABLES, "MY_TOKEN")
    options = "--no-plugins --plugin '/games/my nim.py' --plugin /games/b.py --allow sb3:a --allow 'lm:*' --allow human"
    assert command_line("view", "a b", allow=["sb3:a"]) == f"gymposium {options} --allow-env MY_TOKEN view 'a b'"
    monkeypatch.delenv(ONLY)
    assert command_line("list", plugins=[Path("c.py")]).startswith("gymposium --plugin c.py --allow 'lm:*'")


def test_without_options_only_the_arguments_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (ONLY, PLUGIN_FILES, VARIABLE, VARIABLES):
        monkeypatch.delenv(name, raising=False)
    assert command_line("list") == "gymposium list"


ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted({*ROOT.glob("packages/*/src/*/cli/**/*.py"), *ROOT.glob("plugins/*/src/*/cli*/**/*.py")})
HARD_CODED = re.compile(r"\bgymposium (--\w+ \S+ )*[a-z]+( [^.;()]*)?$")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_commands_of_the_cli_are_made_by_the_helper(module: Path) -> None:
    """A command with a value in it loses `--plugin` and breaks at a space unless `command_line` makes it."""
    texts = (node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.JoinedStr))
    found = [
        ast.unparse(text)
        for text in texts
        for before, after in pairwise(text.values)
        if isinstance(before, ast.Constant) and isinstance(after, ast.FormattedValue)
        if HARD_CODED.search(str(before.value))
    ]
    assert not found
