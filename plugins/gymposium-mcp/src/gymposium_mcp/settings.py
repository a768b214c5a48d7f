"""The TOML file of a world: the server, the tools that are offered, and the file of questions.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from gymposium.errors import BadOption, UnknownName
from gymposium.util.plain_file import read_plain_text
from gymposium.util.settings import read_settings
from gymposium.util.strict_toml import strict_toml

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_CALL = 60.0
_SERVERS = 16
WORLD, MATCH = "{world}", "{match}"
"""Placeholders in the command of a server per match: the folder of the TOML file, and that of the match."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The table `[server]`: a program that speaks MCP over standard input and output, or the address of a server."""

    command: tuple[str, ...] = ()
    """The program with its arguments. It runs in the folder of the file. `python` as the program is the Python that
    runs gymposium."""
    env: tuple[str, ...] = ()
    """Names of environment variables that the program gets, besides `HOME`, `PATH` and the like."""
    url: str = ""
    """The address of a server that speaks MCP over streamable HTTP."""
    token: str = ""
    """Name of the environment variable with the bearer token for `url`."""
    per_match: bool = False
    """True if each match gets a server, which runs in a new folder that is deleted after the match."""
    files: str = ""
    """With `per_match`: a folder, relative to that of the TOML file, whose content each match's folder gets."""
    at_once: int | None = None
    """With `per_match`: the number of servers that run at the same time in a process, by default 16."""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError("give either command or url")
        if self.env and self.url:
            raise ValueError("env belongs to a command; for a url, give the name of the variable as token")
        if self.token and self.command:
            raise ValueError("token belongs to a url; for a command, give the name of the variable in env")
        if self.per_match and self.url:
            raise ValueError("per_match belongs to a command; a url has one server")
        if not self.per_match:
            for key, is_given in (("files", self.files != ""), ("at_once", self.at_once is not None)):
                if is_given:
                    raise ValueError(f"{key} belongs to a server for each match; add per_match = true")
            for placeholder in (WORLD, MATCH):
                if any(placeholder in part for part in self.command):
                    raise ValueError(f"command has {placeholder}, which needs per_match = true")
        if self.at_once is not None and self.at_once < 1:
            raise ValueError(f"at_once is {self.at_once}; give 1 or more")
        for key, names in (("env", self.env), ("token", (self.token,) if self.token else ())):
            for name in names:
                if not _VARIABLE.fullmatch(name):
                    raise ValueError(f"{key} has {name!r}, where the name of an environment variable is wanted")
        if self.url:
            parts = urlsplit(self.url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f"url is {self.url!r}; give an address such as https://example.org/mcp")
            if parts.username is not None or parts.password is not None:
                raise ValueError(
                    "url holds a password; put it into an environment variable, and give its name as token"
                )

    @property
    def bound(self) -> int | None:
        """The number of servers that run at the same time; None if all matches share one."""
        return (self.at_once or _SERVERS) if self.per_match else None


@dataclass(frozen=True, slots=True)
class ToolsSettings:
    """The table `[tools]`: which tools of the server are offered, and how often and how long they may be called."""

    allow: Literal["all"] | tuple[str, ...]
    """The names of the tools that are offered, or `all`."""
    max_calls: int = 10
    """Number of calls after which a task ends, the answer included."""
    seconds: float = 30.0
    """Time limit of one call."""
    digest: str = ""
    """The digest that the tools must have, if any. Records hold it, and the error for another one names it."""

    def __post_init__(self) -> None:
        if not self.allow:
            raise ValueError('allow is empty; name the tools that are offered, or write allow = "all"')
        if len({*self.allow}) != len(self.allow) and self.allow != "all":
            raise ValueError("allow names a tool twice")
        if self.max_calls < 1:
            raise ValueError(f"max_calls is {self.max_calls}; give 1 or more")
        if not 0 < self.seconds <= _LONGEST_CALL:
            raise ValueError(f"seconds is {self.seconds:g}; give more than 0, and {_LONGEST_CALL:g} at most")


@dataclass(frozen=True, slots=True)
class QuestionsSettings:
    """The table `[questions]`: JSONL files with a question a line, relative to the folder of the TOML file."""

    train: str
    test: str = ""
    """Other questions, for measuring; empty if there are none."""


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """All that the TOML file says."""

    path: Path
    """The TOML file, with all symbolic links resolved."""
    server: ServerSettings
    tools: ToolsSettings
    questions: QuestionsSettings

    @property
    def folder(self) -> Path:
        """The folder of the file, in which the program runs and the questions are found."""
        return self.path.parent


_TABLES = {"server": ServerSettings, "tools": ToolsSettings, "questions": QuestionsSettings}


def read_world(file: str | Path) -> WorldSettings:
    """The settings in a TOML file. Nothing is started, and no other file is read.

    Raises `BadOption` or `UnknownName`, which name the file and the key, if the file cannot be read, a key is missing
    or not known, or a value is of no use."""
    try:
        path = Path(file).resolve(strict=True)
        given = strict_toml(read_plain_text(path))
    except (OSError, ValueError) as error:
        raise BadOption(f"{file} cannot be read as TOML ({error}). Name a file that describes a world.") from error
    for name in given:
        if name not in _TABLES:
            raise UnknownName(f"table of {file}", name, _TABLES)
    tables = {name: read_settings(f"{file}, [{name}]", kind, given.get(name, {})) for name, kind in _TABLES.items()}
    return WorldSettings(path, **tables)
