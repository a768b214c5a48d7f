"""Distribution metadata: one version, compatible sibling ranges, one license text."""

from __future__ import annotations

import re
import tomllib
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from tests.workspace import lowest

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = sorted([*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")])
NAMES = {path: path.parent.name for path in PROJECTS}


def project(path: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return table


VERSIONS = {canonicalize_name(project(p)["name"]): Version(project(p)["version"]) for p in PROJECTS}


def test_all_distributions_share_one_version() -> None:
    assert len(VERSIONS) > 10
    assert len(set(VERSIONS.values())) == 1
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {VERSIONS['gymposium']}\n" in citation


def test_changelog_begins_with_the_version() -> None:
    first = re.search(r"^## (\d[^\s]*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert first is not None
    assert Version(first[1]) == VERSIONS["gymposium"]


@pytest.mark.parametrize("path", PROJECTS, ids=NAMES.get)
def test_sibling_ranges_end_at_the_next_minor_version(path: Path) -> None:
    siblings = [r for r in map(Requirement, project(path)["dependencies"]) if canonicalize_name(r.name) in VERSIONS]
    assert siblings or path.parent.name == "gymposium"
    for sibling in siblings:
        now = VERSIONS[canonicalize_name(sibling.name)]
        assert sibling.specifier.contains(str(now))
        assert not sibling.specifier.contains(f"{now.major}.{now.minor + 1}.0")


@pytest.mark.parametrize("path", PROJECTS, ids=NAMES.get)
def test_packages_depend_in_one_direction(path: Path) -> None:
    core, viewer, agents = {"gymposium"}, {"gymposium-viewer"}, {"gymposium-agents"}
    allowed = {
        "gymposium": set(),
        "gymposium-agents": core,
        "gymposium-arena": core | viewer,
        "gymposium-testing": core,
        "gymposium-train": core | agents,
        "gymposium-viewer": core,
    }
    name = canonicalize_name(project(path)["name"])
    wanted = {canonicalize_name(Requirement(d).name) for d in project(path)["dependencies"]} & set(VERSIONS)
    assert wanted <= allowed.get(name, set(allowed))  # a plugin may build on any package


@pytest.mark.parametrize("path", PROJECTS, ids=NAMES.get)
def test_each_distribution_has_the_license_and_a_readme(path: Path) -> None:
    license_text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (path.parent / "LICENSE").read_text(encoding="utf-8") == license_text
    assert project(path)["license"] == "Apache-2.0"
    assert (path.parent / project(path)["readme"]).read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("path", PROJECTS, ids=NAMES.get)
def test_tested_versions_are_within_the_declared_ranges(path: Path) -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {canonicalize_name(r.name): r for r in map(Requirement, (li for li in lines if li and li[0] != "#"))}
    extras = chain.from_iterable(project(path).get("optional-dependencies", {}).values())
    for wanted in map(Requirement, [*project(path)["dependencies"], *extras]):
        name = canonicalize_name(wanted.name)
        if name not in VERSIONS:
            (pinned,) = pins[name].specifier
            assert wanted.specifier.contains(pinned.version), f"{wanted} refuses the pinned {pinned.version}"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("uv") is None, reason="uv is not installed")
def test_tested_versions_of_all_distributions_fit_in_one_environment() -> None:
    found = lowest.resolve(lowest.requirements(), "--constraints", str(ROOT / "constraints.txt"))
    assert {"mcp", "textarena", "tinker", "verifiers"} <= {line.partition("==")[0] for line in found.splitlines()}
