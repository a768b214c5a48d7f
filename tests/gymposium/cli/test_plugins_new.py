"""`gymposium plugins new`: the plugin that it writes passes its own tests, and names that cannot work are refused.

`tests/workspace/newcomer.py` also builds, installs and tests the package outside of a checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gymposium.cli.plugins.new import FILES, FILES_OF, Kind, fill_in, render
from gymposium.errors import BadOption

Run = Callable[..., subprocess.CompletedProcess[str]]


def stage(package: Path, site: Path) -> dict[str, str]:
    """The environment of a process with the package on its path, and with the metadata of an installation."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [source] = [folder for folder in (package / "src").iterdir() if folder.is_dir()]
    info = site / f"{source.name}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (site / source.name).symlink_to(source)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    [(name, value)] = project["entry-points"]["gymposium"].items()
    (info / "entry_points.txt").write_text(f"[gymposium]\n{name} = {value}\n")
    return {"PYTHONPATH": str(site), "GYMPOSIUM_PLUGINS": project["name"], "GYMPOSIUM_PLUGINS_STRICT": "1"}


def assert_its_own_tests_pass(package: Path, environment: dict[str, str]) -> None:
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=package,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout


def test_generated_plugin_passes_its_own_tests(gymposium: Run, tmp_path: Path) -> None:
    made = gymposium(
        "plugins", "new", "gymposium-card-swap", "--namespace", "me", "--author", "Ada L.", "--license", "MIT"
    )
    assert made.returncode == 0, made.stderr
    package = tmp_path / "gymposium-card-swap"
    assert f"cd {package.name}\n" in made.stdout
    assert "gymposium play card_swap --opponent card_swap-greedy" in made.stdout
    environment = stage(package, tmp_path / "site")
    [plugin] = [
        plugin
        for plugin in json.loads(gymposium("plugins", "list", "--json", env=environment).stdout)["plugins"]
        if plugin["distribution"] == "gymposium-card-swap"
    ]
    assert (plugin["status"], plugin["adds"]["games"], plugin["adds"]["players"]) == (
        "active",
        ["card_swap"],
        ["card_swap-greedy"],
    )
    ran = gymposium("run", "card_swap(cards=5)", "--players", "card_swap-greedy,random", "-n", "4", env=environment)
    assert ran.returncode == 0, ran.stderr
    wrong_game = gymposium("run", "kuhn_poker", "--players", "card_swap-greedy,random", "-n", "1", env=environment)
    assert "card_swap-greedy plays card_swap only, not kuhn_poker" in wrong_game.stderr
    assert_its_own_tests_pass(package, environment)
    license_text = (package / "LICENSE").read_text(encoding="utf-8")
    assert license_text.startswith("MIT License")
    assert "Ada L." in license_text
    readme = (package / "README.md").read_text(encoding="utf-8")
    assert '"gymposium:me/TextCardSwap-v0"' in readme


def _files(folder: Path, package: str) -> list[Path]:
    """The files of a package in a folder, with the package's name before them."""
    return [file.relative_to(folder) for file in (folder / package).rglob("*") if file.is_file()]


@pytest.mark.slow
def test_generated_world_passes_its_own_tests(gymposium: Run, tmp_path: Path) -> None:
    made = gymposium("plugins", "new", "city-archive", "--world", "--namespace", "me")
    assert made.returncode == 0, made.stderr
    package = tmp_path / "city-archive"
    assert "gymposium run city_archive --players city_archive-expert -n 20" in made.stdout
    told = json.loads(gymposium("plugins", "new", "other-one", "--world", "--json").stdout)
    files = told.pop("files")
    assert told == {"folder": "other-one", "game": "other_one", "player": "other_one-expert"}
    assert sorted(str(file.relative_to("other-one")) for file in _files(tmp_path, "other-one")) == files
    assert str(Path("src", "city_archive", "tasks.py")) in made.stdout
    environment = stage(package, tmp_path / "site")
    ran = gymposium("run", "city_archive", "--players", "city_archive-expert", "-n", "4", "--out", "x", env=environment)
    assert "mean return    1.000" in ran.stdout, ran.stderr
    wrong_game = gymposium("run", "pig", "--players", "city_archive-expert,random", "-n", "1", env=environment)
    assert "city_archive-expert plays city_archive only, not pig" in wrong_game.stderr
    assert_its_own_tests_pass(package, environment)
    assert '"gymposium:me/TextCityArchive-v0"' in (package / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "namespace", "author", "reason"),
    [
        ("Card", "", "", "'Card' is not a valid plugin name. Use lower-case letters"),
        ("9lives", "", "", "is not a valid plugin name"),
        ("card--swap", "", "", "is not a valid plugin name"),
        ("card/swap", "", "", "is not a valid plugin name"),
        ("c" * 41, "", "", "at most 40 characters"),
        ("class", "", "", "'class' is a Python keyword"),
        ("json", "", "", "would shadow the existing module json"),
        ("kuhn-poker", "", "", "The plugin 'builtin' already has this name or a game 'kuhn_poker'"),
        ("x1", "a/b", "", "--namespace 'a/b' must have only letters, digits, - and _"),
        ("x1", "", 'Jo "J" X', "must not have quotation marks"),
        ("x1", "", "Jo\nX", "newlines"),
    ],
)
def test_invalid_names_are_refused(name: str, namespace: str, author: str, reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        fill_in(name, namespace, author, "MIT", "game")


@pytest.mark.parametrize(
    ("name", "reason"), [("there", "there already exists. Choose another"), ("Card", "is not a valid")]
)
def test_refused_name_writes_nothing(name: str, reason: str, gymposium: Run, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    done = gymposium("plugins", "new", name)
    assert done.returncode == 2
    assert reason in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


@pytest.mark.parametrize("kind", FILES_OF)
def test_every_name_in_the_templates_is_filled_in(kind: Kind) -> None:
    words = fill_in("dice", "", "", "Apache-2.0", kind)
    written = render(words)
    assert (words["namespace"], words["env_id"], words["author"]) == ("dice", "dice/TextDice-v0", "The dice authors")
    assert len(written) == len(FILES) + len(FILES_OF[kind]) + 1
    for path, text in written.items():
        assert "$" not in path
        assert "$" not in text.replace("${{ matrix.python }}", "").replace("$ ", ""), path
    for path in (path for path in written if path.endswith(".py")):
        compile(written[path], path, "exec")


def test_every_template_is_used() -> None:
    with as_file(files("gymposium.cli.plugins") / "template") as folder:
        templates = {file.relative_to(folder).as_posix() for file in folder.rglob("*.txt")}
    used = {*FILES, "Apache-2.0", "MIT"}.union(*FILES_OF.values())
    assert templates == {f"{name}.txt" for name in used}


@pytest.mark.parametrize(("kind", "extras"), [("game", set()), ("world", {"worlds"})])
def test_generated_dependency_ends_before_the_next_minor(kind: Kind, extras: set[str]) -> None:
    project = tomllib.loads(render(fill_in("dice", "", "", "MIT", kind))["pyproject.toml"])
    major, minor = version("gymposium").split(".")[:2]
    [dependency] = project["project"]["dependencies"]
    assert Requirement(dependency).extras == extras
    for line in (dependency, project["dependency-groups"]["test"][-1]):
        wanted = Requirement(line).specifier
        assert wanted.contains(version("gymposium"))
        assert not wanted.contains(f"{major}.{int(minor) + 1}.0")
