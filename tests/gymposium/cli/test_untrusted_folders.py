"""Verbs that write into an untrusted folder write nothing outside of it, whatever links it contains."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gymposium.cli.main import app

SUITE = """
name = "small"
title = "A small board"
groups = 1
players = ["random", "greedy"]
[[games]]
name = "kuhn_poker"
"""
NAMES = ("results.json", "suite.toml", "entry.json", "exact.json", "settings.json", "matches.manifest.json")
"""Files that a verb may write although they do not exist yet."""


def do(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], prog_name="gymposium")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board without results, and a run that was stopped in the middle of a line."""
    home = tmp_path_factory.mktemp("folders")
    (home / "suite.toml").write_text(SUITE)
    for done in (
        do("leaderboard", "run", home / "suite.toml", "--out", home / "board"),
        do("run", "kuhn_poker", "--players", "random,random", "-n", "4", "--out", home / "run"),
    ):
        assert done.exit_code == 0, done.output
    matches = home / "run" / "matches.jsonl"
    matches.write_bytes(matches.read_bytes()[:-40])
    return home


def staging_links(folder: Path, outside: Path) -> None:
    """Links at the names that staging files once had."""
    (outside / "victim").write_text("mine")
    for place in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        reviews = {f"{file.stem}.review.json" for file in place.glob("*.jsonl")}
        for name in {*NAMES, *reviews, *(path.name for path in place.iterdir())}:
            (place / f".{name}.partial").symlink_to(outside / "victim")


def linked_files(folder: Path, outside: Path) -> None:
    """Links in the place of all files but the first that a verb reads."""
    for number, file in enumerate(path for path in sorted(folder.rglob("*")) if path.is_file()):
        if file.name not in ("suite.toml", "settings.json"):
            file.rename(outside / str(number))
            file.symlink_to(outside / str(number))


def linked_folders(folder: Path, outside: Path) -> None:
    """Links in the place of all folders in the folder."""
    for place in [path for path in folder.iterdir() if path.is_dir()]:
        place.rename(outside / place.name)
        place.symlink_to(outside / place.name)


def hard_links(folder: Path, outside: Path) -> None:
    """All files of the folder are files outside as well."""
    for number, place in enumerate(sorted(path for path in folder.rglob("*") if path.is_file())):
        (outside / str(number)).hardlink_to(place)


def linked_new_folders(folder: Path, outside: Path) -> None:
    """Links that lead nowhere yet, in the place of folders that a verb makes."""
    for place in (folder / "matches", folder / "entries" / "mcts-2", folder / "entries" / "random" / "matches"):
        if place.parent.is_dir():
            shutil.rmtree(place, ignore_errors=True)
            place.symlink_to(outside / "made")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


VERBS = {
    "rate": ("board", "leaderboard", "rate", "HERE"),
    "rate --exact": ("board", "leaderboard", "rate", "HERE", "--exact", "random"),
    "leaderboard run": ("board", "leaderboard", "run", "--out", "HERE"),
    "leaderboard run SUITE": ("board", "leaderboard", "run", "SUITE", "--out", "HERE"),
    "leaderboard run --add": ("board", "leaderboard", "run", "--out", "HERE", "--add", "mcts-2"),
    "review of a board": ("board", "review", "HERE"),
    "review of a run": ("run", "review", "HERE"),
    "run --resume": ("run", "run", "--resume", "HERE"),
}


@pytest.mark.parametrize("attack", [staging_links, linked_files, linked_folders, linked_new_folders, hard_links])
@pytest.mark.parametrize("verb", VERBS)
def test_nothing_outside_is_written(
    folders: Path, tmp_path: Path, verb: str, attack: Callable[[Path, Path], None]
) -> None:
    kind, *arguments = VERBS[verb]
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    shutil.copytree(folders / kind, folder)
    outside.mkdir()
    attack(folder, outside)
    before = content(outside)
    places = {"HERE": folder, "SUITE": folders / "suite.toml"}
    done = do(*(places.get(argument, argument) for argument in arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    assert content(outside) == before
    if done.exit_code:
        assert re.search("symbolic link|hard link", done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_users_own_link_to_the_folder_is_followed(folders: Path, tmp_path: Path, verb: str) -> None:
    kind, *arguments = VERBS[verb]
    shutil.copytree(folders / kind, tmp_path / "folder")
    (tmp_path / "link").symlink_to("folder")
    places = {"HERE": tmp_path / "link", "SUITE": folders / "suite.toml"}
    before = content(tmp_path / "folder")
    done = do(*(places.get(argument, argument) for argument in arguments))
    assert done.exit_code == 0, done.output
    written = content(tmp_path / "folder")
    assert written != before or verb.startswith("leaderboard run")
    assert not [name for name in written if name.endswith(".partial")]


@pytest.mark.parametrize("verb", ["verify", "review", "replay", "resume"])
def test_folder_names_cannot_emit_terminal_escapes(folders: Path, tmp_path: Path, verb: str) -> None:
    """A folder is called so that it clears the screen and sets the title of the window."""
    folder = tmp_path / "\x1b[2J\x1b]0;title\x07\u202e"
    shutil.copytree(folders / "run", folder)
    arguments = {"resume": ("run", "--resume"), "replay": ("replay",)}.get(verb, (verb,))
    for path in (folder, folder / "matches.jsonl"):
        done = do(*arguments, path)
        assert done.output
        assert not {"\x1b", "\x07", "\u202e"}.intersection(done.output)
