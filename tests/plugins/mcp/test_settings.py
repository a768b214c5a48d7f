"""The TOML file of a world: its settings, and errors for everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.plugins.mcp.making import write_world

from gymposium import load_game
from gymposium.errors import BadOption, BadParameter, GymposiumError, PermissionRequired, UnknownName
from gymposium.games.registry import check_named_game
from gymposium_mcp.settings import read_world


def test_settings_are_read_from_the_file(tmp_path: Path) -> None:
    file = write_world(
        tmp_path, server={"command": ["uvx", "it"], "env": ["KEY"]}, tools={"allow": "all", "seconds": 5}
    )
    world = read_world(file)
    assert (world.server.command, world.server.env) == (("uvx", "it"), ("KEY",))
    assert (world.tools.allow, world.tools.seconds, world.tools.max_calls) == ("all", 5.0, 4)
    assert world.folder / world.questions.train == tmp_path / "train.jsonl"


URL = {"command": None, "url": "https://example.org/mcp"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"server": {"url": "https://example.org"}}, r"\[server\]: use either command or url"),
        ({"server": None}, r"\[server\]: use either command or url"),
        ({"server": {"command": "python"}}, r"\[server\]: command='python' must be a list, each item text"),
        ({"server": {"env": ["KEY=secret"]}}, "env has 'KEY=secret', which is not the name of an environment variable"),
        ({"server": {"token": "KEY"}}, "token applies to url"),
        ({"server": {**URL, "env": ["KEY"]}}, "env applies to command"),
        ({"server": {**URL, "url": "file:///etc/passwd"}}, "use an address such as https://example.org/mcp"),
        ({"server": {**URL, "url": "https://me:secret@example.org"}}, "url contains a password"),
        ({"server": {**URL, "per_match": True}}, "per_match applies to command; a url has one server"),
        ({"server": {"files": "start"}}, "files applies to a server per match; add per_match = true"),
        ({"server": {"at_once": 2}}, "at_once applies to a server per match"),
        ({"server": {"per_match": True, "at_once": 0}}, "at_once is 0; use 1 or more"),
        ({"server": {"command": ["serve", "{match}/notes"]}}, r"command has \{match\}, which needs per_match = true"),
        ({"tools": None}, r"\[tools\]: allow is missing. It must be 'all' or a list"),
        ({"tools": {"allow": []}}, r"allow is empty; name the tools to offer"),
        ({"tools": {"allow": ["a", "b", "a"]}}, "allow has a duplicate tool: a"),
        ({"tools": {"max_calls": 0}}, "max_calls is 0; use 1 or more"),
        ({"tools": {"seconds": 0}}, "seconds is 0; use more than 0"),
        ({"tools": {"seconds": 600}}, "seconds is 600; use more than 0 and at most 60"),
        ({"questions": {"train": None}}, r"\[questions\]: train is missing"),
        ({"questions": {"tset": "a"}}, r"option of .*\[questions\] 'tset'. Did you mean 'test'"),
    ],
)  # fmt: skip
def test_errors_name_the_file_and_the_key(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    file = write_world(tmp_path, **changes)
    with pytest.raises(GymposiumError, match=reason) as raised:
        load_game("mcp", file=str(file))
    assert str(file) in str(raised.value)


def test_unknown_tables_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "world.toml"
    file.write_text("[servers]\n", encoding="utf-8")
    with pytest.raises(UnknownName, match=r"Unknown table of .* 'servers'. Did you mean 'server'"):
        read_world(file)


@pytest.mark.parametrize("content", [None, b"[server", b"\xff"])
def test_invalid_toml_is_refused(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "world.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadOption, match=r"Cannot read .* as TOML"):
        read_world(file)


@pytest.mark.parametrize("hop", ["world.toml", "nowhere.toml", "/dev/zero"])
def test_broken_links_are_refused(hop: str, tmp_path: Path) -> None:
    file = tmp_path / "world.toml"
    file.symlink_to(hop)
    with pytest.raises(BadOption, match=r"Cannot read .*world\.toml"):
        read_world(file)


def test_unknown_splits_are_refused(tmp_path: Path) -> None:
    file = str(write_world(tmp_path))
    with pytest.raises(BadParameter, match=r"split=test: .* has no such questions"):
        load_game("mcp", file=file, split="test")
    (tmp_path / "other").mkdir()
    other = write_world(tmp_path / "other", questions={"test": "train.jsonl"})
    assert load_game("mcp", file=str(other), split="test")


def test_records_may_not_name_files_without_permission() -> None:
    check_named_game("mcp")
    check_named_game("mcp(split=test)")
    with pytest.raises(
        PermissionRequired, match="its parameter file opens a file that starts a program or asks a server"
    ):
        check_named_game("mcp(file=world.toml)")
