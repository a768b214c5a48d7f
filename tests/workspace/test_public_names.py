"""Public names shown by `dir` and `help`, and the promises of `docs/reference/stability.md`."""

from __future__ import annotations

import importlib
import pydoc
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from gymposium.records import FORMAT, verify_file
from gymposium.records.manifest import MANIFEST_FORMAT

ROOT = Path(__file__).resolve().parents[2]
STABLE = (ROOT / "docs" / "reference" / "stability.md").read_text(encoding="utf-8")
RECORDS = Path(__file__).parent / "records"
PACKAGES = ["gymposium", "gymposium_agents", "gymposium_train"]


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_lists_existing_public_names(package: str) -> None:
    module = importlib.import_module(package)
    assert dir(module) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_is_unchanged_after_using_the_package(package: str) -> None:
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
    for name in (
        "load_game(name",
        "make_player(text",
        "make_reward(text",
        "play(game",
        "class GameSpec",
        "hookimpl = ",
    ):
        assert name in text, name
    for name in ("annotations", "TYPE_CHECKING", "warnings", "PluginWarning", "_register"):
        assert f"\n    {name}" not in text, name


def promised() -> dict[str, set[str]]:
    """The names that the page lists, by module."""
    rows = re.findall(r"^\| `(gymposium[\w.]*)` \| (.+) \|$", STABLE, re.MULTILINE)
    return {module: set(re.findall(r"`(\w+)`", names)) for module, names in rows}


def test_public_names_match_the_stability_page() -> None:
    assert {package: promised()[package] for package in PACKAGES} == {
        package: set(importlib.import_module(package).__all__) for package in PACKAGES
    }
    for module, names in promised().items():
        assert not [name for name in names if not hasattr(importlib.import_module(module), name)]


TAUGHT = [
    *ROOT.glob("packages/gymposium/src/gymposium/cli/plugins/template/**/*.py.txt"),
    *ROOT.glob("docs/examples/**/*.py"),
    *ROOT.glob("docs/tutorials/*.md"),
]
INSIDE = {
    *("gymposium.analysis.exact.graph", "gymposium.match.failures", "gymposium.plugins.host"),
    *("gymposium_agents.engines.transformers", "gymposium_agents.models.loading"),
}
"""Modules that an example uses to look inside."""


def test_names_in_plugin_guides_are_promised() -> None:
    taught = defaultdict[str, set[str]](set)
    for file in TAUGHT:
        text = file.read_text(encoding="utf-8")
        for module, names in re.findall(r"^ *from (gymposium[\w.]*) import (\([^)]*\)|.+)$", text, re.MULTILINE):
            taught[module] |= set(re.findall(r"\w+", names))
    missing = {module: names - promised().get(module, set()) for module, names in taught.items()}
    assert not {module: names for module, names in missing.items() if names and module not in INSIDE}


def test_stability_page_names_the_formats() -> None:
    assert f"| `{FORMAT}` |" in STABLE
    assert f"| `{MANIFEST_FORMAT}` |" in STABLE


@pytest.mark.parametrize("file", sorted(RECORDS.glob("*/*.jsonl")), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_records_of_released_formats_are_read(file: Path) -> None:
    """These files stay as they are when the format changes."""
    found = verify_file(file)
    assert found.problems == []
    assert found.matches > 1
