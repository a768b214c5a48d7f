"""The source tree: no import cycles, duplicate class names or file fragments, and every folder is documented."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")


@cache
def modules() -> dict[str, Path]:
    """The file of each module under `packages/` and `plugins/`."""
    files = {}
    for source in sorted([*ROOT.glob("packages/*/src"), *ROOT.glob("plugins/*/src")]):
        for file in sorted(source.rglob("*.py")):
            parts = file.relative_to(source).with_suffix("").parts
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return files


@cache
def parse_tree(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


@cache
def imports() -> dict[str, set[str]]:
    """The modules of the project that each module imports: at its top, inside functions, and for types alone."""
    return {module: set(_imported(parse_tree(module))) - {module} for module in modules()}


def _imported(tree: ast.Module) -> Iterator[str]:
    known = modules()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in known:
                    yield name
                elif node.module in known:
                    yield node.module


def test_imports_have_no_cycles() -> None:
    """Imports inside functions and those for types alone count as well."""
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None


def test_class_names_are_unique_within_a_distribution() -> None:
    places: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for module in modules():
        for node in parse_tree(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[module.partition(".")[0], node.name].append(module)
    twice = {key: where for key, where in places.items() if len(where) > 1}
    assert not twice


FRAGMENTS = {
    "gymposium_affinetes.scores",  # affinetes' formula of the score, which is tested by itself
    "gymposium_train.learner.shares",  # the split of a batch over processes, which is tested by itself
}
"""Files that may be short although only one other imports them."""


def test_no_file_is_a_fragment_of_its_only_importer() -> None:
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module, imported in imports().items():
        for other in imported:
            importers[other].add(module)
    fragments = {
        module
        for module, file in modules().items()
        if file.name != "__init__.py"
        and len(importers[module]) == 1
        and len(file.read_text(encoding="utf-8").splitlines()) < 25
    }
    assert not fragments - FRAGMENTS


@pytest.mark.parametrize("distribution", ["gymposium", "gymposium_agents", "gymposium_train"])
def test_architecture_page_names_exactly_the_folders(distribution: str) -> None:
    section = PAGE.partition(f"\n### {distribution}\n")[2].partition("\n#")[0]
    named = re.findall(r"^\| `(\w+)` \| [A-Z0-9].+\. \|$", section, re.MULTILINE)
    folders = {module.split(".")[1] for module in modules() if module.startswith(f"{distribution}.")}
    assert sorted(named) == sorted(folders)


def test_packages_have_few_top_level_names() -> None:
    names: dict[str, set[str]] = {
        distribution: set() for distribution in ("gymposium", "gymposium_agents", "gymposium_train")
    }
    for module in modules():
        package, *rest = module.split(".")
        if rest and package in names:
            names[package].add(rest[0])
    assert len(names["gymposium"] - {"__main__", "errors"}) <= 14
    assert all(len(names[package] - {"__main__"}) <= 12 for package in ("gymposium_agents", "gymposium_train"))


def test_each_extension_point_names_two_existing_files() -> None:
    rows = re.findall(r"^\| an? ([a-z ]+) \| (.+) \|$", PAGE.partition("\n## Where to add what\n")[2], re.MULTILINE)
    assert len(rows) >= 10
    sources = [*ROOT.glob("packages/*/src"), *ROOT.glob("plugins/*/src")]
    for thing, files in rows:
        paths = re.findall(r"`([^`]+)`", files)
        assert 1 <= len(paths) <= 2, thing
        for path in paths:
            pattern = re.sub(r"[A-Z]{3,}", "*", path)
            assert any(any(source.glob(pattern)) for source in sources), f"{thing}: {path}"
