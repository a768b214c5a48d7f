"""Printed commands repeat the global options of the process."""

from __future__ import annotations

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
