"""What `dir` and `help` show of each package: its public names."""

from __future__ import annotations

import importlib
import pydoc
import subprocess
import sys

import pytest

PACKAGES = ["gymposium", "gymposium_agents", "gymposium_train"]


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_shows_the_public_names_and_each_is_there(package: str) -> None:
    module = importlib.import_module(package)
    assert dir(module) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_agrees_in_a_process_that_has_used_the_package(package: str) -> None:
    """Submodules that were imported are no public names."""
    program = (
        f"import {package}; {package}.{public_function(package)}; print(dir({package}) == sorted({package}.__all__))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def public_function(package: str) -> str:
    return {"gymposium": "make_player", "gymposium_agents": "Policy", "gymposium_train": "TrainConfig"}[package]


def test_help_shows_the_public_names() -> None:
    import gymposium

    text = pydoc.plain(pydoc.render_doc(gymposium))
    functions = ("load_game(name", "make_player(text", "make_reward(text", "play(game")
    for name in (*functions, "class GameSpec", "hookimpl = "):
        assert name in text, name
    for name in ("annotations", "TYPE_CHECKING", "warnings", "PluginWarning", "_register"):
        assert f"\n    {name}" not in text, name
