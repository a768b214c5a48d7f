"""Releases: version bumps, publishing workflows, and metadata of tested systems."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = sorted([*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")])
BUMP = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["bumpversion"]


def workflow(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows" / name).read_text(encoding="utf-8"))
    return loaded


def commands(name: str) -> list[str]:
    return [step["run"] for job in workflow(name)["jobs"].values() for step in job["steps"] if "run" in step]


def replaced(version: str) -> dict[Path, str]:
    """The files that a release changes, with their text after it, as bump-my-version replaces."""
    texts: dict[Path, str] = {}
    for change in BUMP["files"]:
        for file in sorted(ROOT.glob(change.get("glob") or change["filename"])):
            text = texts.get(file) or file.read_text(encoding="utf-8")
            words = change["replace"].replace("{new_version}", version).replace("{now:%Y-%m-%d}", "2030-01-31")
            texts[file], count = re.subn(change["search"], words, text, flags=re.MULTILINE)
            assert count or change.get("ignore_missing_version"), f"{file} lacks {change['search']}"
    return texts


def test_release_sets_every_version_and_sibling_range() -> None:
    texts = replaced("7.8.9")
    assert set(texts) == {*PROJECTS, ROOT / "CHANGELOG.md", ROOT / "CITATION.cff"}
    for path in PROJECTS:
        project = tomllib.loads(texts[path])["project"]
        assert project["version"] == "7.8.9"
        wanted = [*project["dependencies"], *chain(*project.get("optional-dependencies", {}).values())]
        siblings = [one for one in wanted if one.startswith("gymposium")]
        assert [one for one in siblings if "~=7.8.9" not in one and not one.startswith(f"{project['name']}[")] == []
    assert "\n## 7.8.9 (2030-01-31)\n" in texts[ROOT / "CHANGELOG.md"]
    assert yaml.safe_load(texts[ROOT / "CITATION.cff"])["version"] == "7.8.9"


def test_every_distribution_is_published() -> None:
    [matrix] = [job["strategy"]["matrix"] for job in workflow("publish.yml")["jobs"].values() if "strategy" in job]
    assert matrix == {"distribution": sorted(path.parent.name for path in PROJECTS)}


def test_only_the_publish_job_may_request_an_identity_token() -> None:
    jobs = workflow("publish.yml")["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read"},
        "publish": {"id-token": "write"},
    }
    assert workflow("ci.yml")["permissions"] == {"contents": "read"}


def test_public_ci_runs_both_lines_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line for line in readme.splitlines() if line.startswith("python3 -m venv .venv && ")][:2]
    assert len(lines) == 2
    assert set(lines) <= set(commands("ci.yml"))


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.parent.name)
def test_classifiers_match_the_tested_systems_and_pythons(path: Path) -> None:
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    matrix = workflow("ci.yml")["jobs"]["all"]["strategy"]["matrix"]
    pythons = [one.rpartition(" ")[2] for one in project["classifiers"] if one.startswith("Programming Language")]
    assert pythons
    assert set(pythons) <= set(matrix["python"])
    assert project["requires-python"] == f">={matrix['python'][0]}"
    assert "Operating System :: POSIX :: Linux" in project["classifiers"]


def test_lint_names_every_workflow_and_form() -> None:
    """`tox run -e lint` names each file, since no shell expands patterns there."""
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    files = [*ROOT.glob(".github/*/*.yml"), ROOT / ".github/dependabot.yml", ROOT / "CITATION.cff"]
    assert len(files) > 6
    assert [str(file) for file in files if file.relative_to(ROOT).as_posix() not in tox] == []


def test_third_party_code_is_listed_with_its_license() -> None:
    listed = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    vendored = [file.parent.relative_to(ROOT).as_posix() for file in ROOT.glob("p*/*/src/**/LICENSE*")]
    assert vendored
    assert [folder for folder in vendored if f"`{folder}`" not in listed] == []
    for path in re.findall(r"`((?:packages|benchmarks|tests)/[^`]+)`", listed):
        assert (ROOT / path).exists(), path
    made = (".ttf", ".woff", ".woff2", ".png", ".jpg", ".safetensors", ".bin", ".pth", ".gguf", ".jinja")
    assert [file.name for file in ROOT.glob("p*/*/src/**/*") if file.suffix in made] == ["DejaVuSans.ttf"]
