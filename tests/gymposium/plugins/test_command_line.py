"""Printed commands repeat the global options of the process."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from gymposium.plugins.allowed import VARIABLE, VARIABLES
from gymposium.plugins.command_line import format_command_line
from gymposium.plugins.host import ONLY, host
from gymposium.util.child_process import PLUGIN_FILES


def test_all_global_options_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ONLY, "")
    monkeypatch.setenv(PLUGIN_FILES, "/games/my nim.py\n/games/b.py")
    monkeypatch.setenv(VARIABLE, "lm:*\nhuman")
    monkeypatch.setenv(VARIABLES, "MY_TOKEN")
    options = "--no-plugins --plugin '/games/my nim.py' --plugin /games/b.py --allow sb3:a --allow 'lm:*' --allow human"
    assert format_command_line("view", "a b", allow=["sb3:a"]) == f"gymposium {options} --allow-env MY_TOKEN view 'a b'"
    monkeypatch.delenv(ONLY)
    assert format_command_line("list", plugins=[Path("c.py")]).startswith("gymposium --plugin c.py --allow 'lm:*'")


def test_arguments_alone_are_printed_without_options(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (ONLY, PLUGIN_FILES, VARIABLE, VARIABLES):
        monkeypatch.delenv(name, raising=False)
    assert format_command_line("list") == "gymposium list"


ROOT = Path(__file__).resolve().parents[3]
SOURCES = [*ROOT.glob("packages/*/src"), *ROOT.glob("plugins/*/src")]
VERB = rf"\bgymposium (--[\w-]+ \S+ )*({'|'.join(sorted(host().commands))}|plugins)\b"
BEFORE_A_VALUE = re.compile(rf"{VERB}( [^.;:()]*)?$")


def test_source_builds_commands_with_values_by_the_helper() -> None:
    """A command with a value in it loses `--plugin` and breaks at a space unless `command_line` makes it."""
    found = [
        f"{module.relative_to(ROOT)}:{text.lineno}"
        for source in SOURCES
        for module in source.rglob("*.py")
        for text in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(text, ast.JoinedStr)
        for before, after in pairwise(text.values)
        if isinstance(before, ast.Constant) and isinstance(after, ast.FormattedValue)
        if BEFORE_A_VALUE.search(str(before.value))
    ]
    assert not found


def test_templates_build_commands_with_values_by_the_helper() -> None:
    pages = [page for source in SOURCES for page in source.rglob("templates/**/*.html")]
    found = [
        page.name
        for page in pages
        for line in page.read_text(encoding="utf-8").splitlines()
        if re.search(rf"{VERB} [^<]*{{{{", line)
    ]
    assert pages
    assert not found
