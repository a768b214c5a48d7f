"""The command `gymposium plugins new`. It writes a package with a game or a world, a player, tests and CI.

The files come from `gymposium/cli/plugins/template`, with names filled in. The package passes its own checks.
"""

from __future__ import annotations

import importlib.util
import keyword
import re
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated, Literal

import typer

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.plugins.list import note_complaints
from gymposium.cli.text import make_stdout_console, print_note, print_text
from gymposium.errors import BadOption
from gymposium.plugins.command_line import format_command_line
from gymposium.plugins.host import host
from gymposium.plugins.specs import GameSpec
from gymposium.util.writable import check_writable

License = Literal["Apache-2.0", "MIT"]
Kind = Literal["game", "world"]
"""The package's content: a card game, or a world of tasks solved with tools."""

FILES = {
    "pyproject.toml": "pyproject.toml",
    "tox.ini": "tox.ini",
    "gitignore": ".gitignore",
    "workflow.yml": ".github/workflows/check.yml",
    "init.py": "src/$package/__init__.py",
    "py.typed": "src/$package/py.typed",
}
"""Destination path of each template that every new package gets."""

FILES_OF: Mapping[str, Mapping[str, str]] = {
    "game": {
        "game/README.md": "README.md",
        "game/plugin.py": "src/$package/plugin.py",
        "game/game.py": "src/$package/game.py",
        "game/players.py": "src/$package/players.py",
        "game/check_game.py": "tests/test_game.py",
        "game/golden": "tests/golden/$game.txt",
    },
    "world": {
        "world/README.md": "README.md",
        "world/plugin.py": "src/$package/plugin.py",
        "world/tasks.py": "src/$package/tasks.py",
        "world/players.py": "src/$package/players.py",
        "world/check_world.py": "tests/test_world.py",
        "world/golden": "tests/golden/$game.txt",
    },
}
"""Destination path of each additional template, by kind of package."""

_LONGEST = 40
"""Maximum length of a package name, in characters."""


def new_plugin(
    name: Annotated[str, typer.Argument(help="Package name for pip, such as card-swap")],
    directory: Annotated[
        Path,
        typer.Option(
            help="Create the package's folder in this folder", metavar="DIR", file_okay=False, show_default="here"
        ),
    ] = Path(),
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="Set the namespace of the id NAME/TextCardSwap-v0", show_default="NAME")
    ] = "",
    author: Annotated[str, typer.Option(help="Set the package's author", show_default="The NAME authors")] = "",
    license_name: Annotated[License, typer.Option("--license", help="Set the package's license")] = "Apache-2.0",
    world: Annotated[bool, typer.Option("--world", help="Write a world with tools instead of a card game")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a plugin: a package with a game or a world, a player, tests and a CI workflow.

    The package works and its tests pass. It has a small card game with a hidden card or, with --world, a library
    catalog to search. Replace these with your own, piece by piece. The game has the package's name, without a leading
    gymposium-.

    Examples:

        gymposium plugins new card-swap
        gymposium plugins new city-archive --world
        gymposium plugins new gymposium-dice --directory ~/src --license MIT
    """
    folder = directory.expanduser() / name
    if folder.exists():
        raise BadOption(f"{folder} already exists. Choose another name, or another folder with --directory.")
    note_complaints()
    words = fill_in(name, namespace, author, license_name, "world" if world else "game")
    check_writable("--directory", folder)
    written = render(words)
    for path, text in written.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", newline="\n") as new:
            new.write(text)
    game, source = words["game"], Path("src", words["package"])
    if as_json:
        player = f"{game}-expert" if world else f"{game}-greedy"
        print_json({"folder": str(folder), "game": game, "player": player, "files": sorted(written)})
        return
    if world:
        player = f"{game}-expert"
        use = format_command_line("run", game, "--players", player, "-n", "20")
        yours = f"Your own tasks and tools go into {source / 'tasks.py'}"
    else:
        player = f"{game}-greedy"
        use = format_command_line("play", game, "--opponent", player)
        yours = f"Your own rules go into {source / 'game.py'}"
    print_text(
        make_stdout_console(),
        f"{folder} is a plugin with the {words['kind']} {game} and the player {player}. Next:\n\n"
        f"  {shlex.join(['cd', str(folder)])}\n"
        f"  python -m pip install --group test -e .\n"
        f"  python -m pytest\n"
        f"  {use}\n\n"
        f"{yours}. README.md explains the rest.\n"
        f"After each change:  {format_command_line('plugins', 'check', game)}",
    )
    print_note("--group needs pip 25.1 or newer: python -m pip install --upgrade pip")


def fill_in(name: str, namespace: str, author: str, license_name: License, kind: Kind) -> dict[str, str]:
    """Return the templates' placeholder values. Raises `BadOption` for invalid names."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", name) or len(name) > _LONGEST:
        raise BadOption(
            f"{name!r} is not a valid plugin name. Use lower-case letters and digits, with - or _ between words, at "
            "most "
            f"{_LONGEST} characters, such as card-swap."
        )
    package = name.replace("-", "_")
    game = package.removeprefix("gymposium_")
    namespace = namespace or game
    if not re.fullmatch(r"[A-Za-z0-9_-]+", namespace):
        raise BadOption(f"--namespace {namespace!r} must have only letters, digits, - and _.")
    if not author.isprintable() or '"' in author or "\\" in author:
        raise BadOption(f"--author {author!r} must not have quotation marks, backslashes or newlines.")
    if keyword.iskeyword(package):
        raise BadOption(f"{package!r} is a Python keyword, so it cannot name a package. Choose another name.")
    if importlib.util.find_spec(package) is not None:
        raise BadOption(f"{name!r} would shadow the existing module {package}. Choose another name.")
    for plugin in host().plugins:
        taken = {spec.name for spec in plugin.specs if isinstance(spec, GameSpec)} | {plugin.name}
        if game in taken:
            raise BadOption(
                f"The plugin {plugin.name!r} already has this name or a game {game!r}. Choose another name."
            )
    title = game.replace("_", " ").capitalize()
    spec = GameSpec(name=game, title=title, summary=title, entry_point=f"{package}.game:game", namespace=namespace)
    major, minor = map(int, version("gymposium").split(".")[:2])
    return {
        "name": name,
        "kind": kind,
        "package": package,
        "game": game,
        "title": title,
        "namespace": namespace,
        "env_id": spec.env_id,
        "author": author or f"The {name} authors",
        "license": license_name,
        "year": str(datetime.now(UTC).year),
        "extras": "[worlds]" if kind == "world" else "",
        "versions": f">={major}.{minor},<{major}.{minor + 1}",
    }


def render(words: Mapping[str, str]) -> dict[str, str]:
    """Return the new package's files by path. `words` are the placeholder values."""
    folder = files("gymposium.cli.plugins") / "template"
    return {
        Template(path).substitute(words): Template((folder / f"{template}.txt").read_text(encoding="utf-8")).substitute(
            words
        )
        for template, path in {**FILES, **FILES_OF[words["kind"]], words["license"]: "LICENSE"}.items()
    }
