"""The help of every command: no Python types, no final full stops, and examples that fit 80 columns."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from gymposium.cli.commands import make_command, simplify_help
from gymposium.cli.main import app
from gymposium.plugins.builtin import gymposium_commands
from gymposium.plugins.host import host

SPECS = sorted(host().commands.values(), key=lambda spec: spec.name)
OWN = {spec.name for spec in gymposium_commands()}


def shown(command: Any, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        command.main(["--help"], prog_name="gymposium")
    assert not ended.value.code
    return capsys.readouterr().out


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for below, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {below}")


def test_root_help_hides_types(capsys: pytest.CaptureFixture[str]) -> None:
    root = typer.main.get_command(app)
    simplify_help(root)
    text = shown(root, capsys)
    assert "--install-completion" in text
    assert "<" not in text


@pytest.mark.parametrize("name", [spec.name for spec in SPECS])
def test_command_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    spec = next(spec for spec in SPECS if spec.name == name)
    made = make_command(host().implementation(spec), name)
    for path, command in commands(made, name):
        text = shown(command, capsys)
        assert not re.search(r"<[a-z]+( range)?>|<list\[|\[x?[<>]|\[\d+<=x", text), f"{path}: {text}"
        for param in command.get_params(typer.Context(command)):
            assert not (param.help or "").endswith("."), f"{path}: {param.name}"
        if name in OWN:
            help_text: str = command.help or ""
            for line in help_text.splitlines():
                assert not line.strip().startswith("gymposium ") or len(line) <= 78, f"{path}: {line}"


def test_completion_lists_the_verbs() -> None:
    words = {"_GYMPOSIUM_COMPLETE": "complete_bash", "COMP_WORDS": "gymposium re", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "gymposium"]
    result = subprocess.run(command, env={**os.environ, **words}, capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["replay", "review"], result.stderr
