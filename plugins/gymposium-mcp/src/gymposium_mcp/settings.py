"""The TOML file of a world: the server, the offered tools, and the file of questions.

[server]
command = ["python", "server.py"]   # or: url = "https://example.org/mcp"
env = ["API_KEY"]                   # or, for a url: token = "API_KEY"
per_match = true                    # a server for each match; false if left out
files = "start"                     # with per_match: the folder that each server gets a copy of
at_once = 16                        # with per_match: the number of servers that run at the same time

[tools]
allow = ["search", "read"]          # or: allow = "all"
max_calls = 10
seconds = 30

[questions]
train = "train.jsonl"
test = "test.jsonl"                 # may be left out
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from gymposium.errors import BadOption, UnknownName
from gymposium.util.plain_file import read_plain_text
from gymposium.util.settings import read_settings
from gymposium.util.strict_toml import parse_strict_toml

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_CALL = 60.0
_SERVERS = 16
WORLD, MATCH = "{world}", "{match}"
"""Placeholders in the command of a per-match server: the TOML file's folder, and the match's folder."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The table `[server]`: a program that speaks MCP over standard input and output, or a server's address."""

    command: tuple[str, ...] = ()
    """The program with its arguments. It runs in the file's folder. `python` as the program is the Python that
    runs gymposium."""
    env: tuple[str, ...] = ()
    """Names of environment variables passed to the program, in addition to common ones such as `HOME` and `PATH`."""
    url: str = ""
    """The address of a server that speaks MCP over streamable HTTP."""
    token: str = ""
    """Name of the environment variable with the bearer token for `url`."""
    per_match: bool = False
    """True if each match gets its own server, which runs in a new folder that is deleted after the match."""
    files: str = ""
    """With `per_match`: a folder, relative to the TOML file's, whose content is copied to each match's folder."""
    at_once: int | None = None
    """With `per_match`: the maximum number of servers in a process, by default 16."""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError(f"use either command or url, not {'both' if self.command else 'neither'}")
        if self.env and self.url:
            raise ValueError("env applies to command; for url, set token to the variable's name")
        if self.token and self.command:
            raise ValueError("token applies to url; for command, add the variable's name to env")
        if self.per_match and self.url:
            raise ValueError("per_match applies to command; a url has one server")
        if not self.per_match:
            for key, is_given in (("files", self.files != ""), ("at_once", self.at_once is not None)):
                if is_given:
                    raise ValueError(f"{key} applies to a server per match; add per_match = true")
            for placeholder in (WORLD, MATCH):
                if any(placeholder in part for part in self.command):
                    raise ValueError(f"command has {placeholder}, which needs per_match = true")
        if self.at_once is not None and self.at_once < 1:
            raise ValueError(f"at_once is {self.at_once}; use 1 or more")
        for key, names in (("env", self.env), ("token", (self.token,) if self.token else ())):
            for name in names:
                if not _VARIABLE.fullmatch(name):
                    raise ValueError(f"{key} has {name!r}, which is not the name of an environment variable")
        if self.url:
            parts = urlsplit(self.url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f"url is {self.url!r}; use an address such as https://example.org/mcp")
            if parts.username is not None or parts.password is not None:
                raise ValueError(
                    "url contains a password; put it in an environment variable, and set token to its name"
                )

    @property
    def max_servers(self) -> int | None:
        """The maximum number of simultaneous servers; None if all matches share one."""
        return (self.at_once or _SERVERS) if self.per_match else None


@dataclass(frozen=True, slots=True)
class ToolsSettings:
    """The table `[tools]`: which server tools are offered, and limits on calls."""

    allow: Literal["all"] | tuple[str, ...]
    """The names of the offered tools, or `all`."""
    max_calls: int = 10
    """Maximum number of calls in a task, including the answer."""
    seconds: float = 30.0
    """Time limit for one call, in seconds."""
    digest: str = ""
    """The digest that the tools must have, if any. Records contain it, and the error for a different digest names
    it."""

    def __post_init__(self) -> None:
        if not self.allow:
            raise ValueError('allow is empty; name the tools to offer, or use allow = "all"')
        if self.allow != "all" and len({*self.allow}) != len(self.allow):
            raise ValueError(f"allow has a duplicate tool: {Counter(self.allow).most_common(1)[0][0]}; name it once")
        if self.max_calls < 1:
            raise ValueError(f"max_calls is {self.max_calls}; use 1 or more")
        if not 0 < self.seconds <= _LONGEST_CALL:
            raise ValueError(f"seconds is {self.seconds:g}; use more than 0 and at most {_LONGEST_CALL:g}")


@dataclass(frozen=True, slots=True)
class QuestionsSettings:
    """The table `[questions]`: JSONL files with one question per line, relative to the TOML file's folder."""

    train: str
    test: str = ""
    """Other questions, for evaluation. May be empty."""


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """The content of the TOML file."""

    path: Path
    """The TOML file, with all symbolic links resolved."""
    server: ServerSettings
    tools: ToolsSettings
    questions: QuestionsSettings

    @property
    def folder(self) -> Path:
        """The file's folder, where the program runs and the questions are found."""
        return self.path.parent


_TABLES = {"server": ServerSettings, "tools": ToolsSettings, "questions": QuestionsSettings}


def read_world(file: str | Path) -> WorldSettings:
    """Read the settings in a TOML file. Nothing is started, and no other file is read.

    Raises `BadOption` or `UnknownName`, which name the file and the key, if the file cannot be read, a key is missing
    or unknown, or a value is invalid."""
    try:
        path = Path(realpath(file, strict=True))
        given = parse_strict_toml(read_plain_text(path))
    except (OSError, ValueError) as error:
        raise BadOption(f"Cannot read {file} as TOML ({error}). Give a file that describes a world.") from error
    for name in given:
        if name not in _TABLES:
            raise UnknownName(f"table of {file}", name, _TABLES)
    tables = {name: read_settings(f"{file}, [{name}]", kind, given.get(name, {})) for name, kind in _TABLES.items()}
    return WorldSettings(path, **tables)
