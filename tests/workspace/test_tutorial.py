"""The tutorials "your own game" and "your own world" are reproducible: files, changes, commands and output."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
GAME, WORLD = TUTORIALS / "your-own-game.md", TUTORIALS / "your-own-world.md"
BLOCK = re.compile(r"^```(?:\{code-block\} )?(\w+)\n(?::caption: ([^\n]*)\n\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)
PIECE = re.compile(
    r"^```\{literalinclude\} (\S+)\n:language: python\n:caption: ([^\n]*)\n:([\w-]+): (.*)\n```$", re.MULTILINE
)
"""A part of an example that the reader is to write: the file, where to write it, and which part."""
SKIPPED = "…"
"""On a line of its own it stands for any lines of output, within a line for any text."""


@pytest.mark.parametrize("page", [GAME, pytest.param(WORLD, marks=pytest.mark.slow)], ids=lambda page: page.stem)
def test_tutorial_commands_and_outputs_are_reproducible(page: Path, tmp_path: Path) -> None:
    kinds = set()
    for kind, caption, body in BLOCK.findall(PIECE.sub(as_code, page.read_text(encoding="utf-8"))):
        kinds.add(kind)
        if kind == "console":
            for command, shown in commands(body):
                assert_shown(shown, run(command, tmp_path), command)
        elif kind == "diff":
            change(tmp_path / caption, body)
        elif caption.endswith(", at its end"):
            with (tmp_path / caption.removesuffix(", at its end")).open("a", encoding="utf-8") as file:
                file.write("\n\n" + body)
        else:
            assert (kind, bool(caption)) == ("python", True), f"nothing is done with this {kind}"
            (tmp_path / caption).write_text(body, encoding="utf-8")
    assert kinds == {"console", "diff", "python"}


def test_world_is_shown_in_full() -> None:
    [(file, _, _, _), *_] = pieces = PIECE.findall(WORLD.read_text(encoding="utf-8"))
    assert "\n\n".join(piece(file, how, which) for _, _, how, which in pieces) == read(file)


def as_code(shown: re.Match[str]) -> str:
    """The block of code that a directive shows."""
    file, caption, how, which = shown.groups()
    return f"```{{code-block}} python\n:caption: {caption}\n\n{piece(file, how, which)}```"


def piece(file: str, how: str, which: str) -> str:
    """The part of an example from its first line to a line (`end-at`), or with a class or function (`pyobject`)."""
    lines = read(file).splitlines(keepends=True)
    if how == "end-at":
        last = next(number for number, line in enumerate(lines, start=1) if which in line)
        return "".join(lines[:last])
    assert how == "pyobject", how
    [found] = [node for node in ast.parse(read(file)).body if getattr(node, "name", None) == which]
    first = min(node.lineno for node in [found, *found.decorator_list])
    return "".join(lines[first - 1 : found.end_lineno])


def read(file: str) -> str:
    """The text of a file that a page names."""
    return (TUTORIALS / file).read_text(encoding="utf-8")


def commands(body: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines shown below it."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        yield command, shown


def run(command: str, folder: Path) -> str:
    """What a reader sees who types it in that folder; the page shows where a command fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "100", "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.stdout


def change(file: Path, diff: str) -> None:
    """Make a change that is shown as a diff; what it takes away or keeps must stand in the file, once."""
    lines = diff.splitlines(keepends=True)
    assert all(line[0] in " +-" for line in lines), diff
    before = "".join(line[1:] for line in lines if line[0] != "+")
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{file.name} has not once:\n{before}"
    file.write_text(text.replace(before, "".join(line[1:] for line in lines if line[0] != "-")), encoding="utf-8")


def assert_shown(shown: list[str], printed: str, command: str) -> None:
    """The lines of the page are those that were printed, in order, but for what is skipped."""
    if not shown:
        return
    within = re.escape(SKIPPED)
    pattern = "".join(
        r"(?:.*\n)*?" if line == SKIPPED else re.escape(line.rstrip()).replace(within, ".*") + r"\n" for line in shown
    )
    tidy = "".join(f"{line.rstrip()}\n" for line in printed.rstrip("\n").split("\n"))
    assert re.fullmatch(pattern, tidy), f"$ {command}\n{tidy}\nbut the page shows\n" + "\n".join(shown)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["a", "c"], "a\nb\nc\n"),
        (["a"], "a\nb\n"),
        (["…", "b"], "a\nb\nc\n"),
        (["a"], ""),
        (["a … c"], "a b\n"),
    ],
)
def test_output_that_differs_from_the_page_is_detected(shown: list[str], printed: str) -> None:
    with pytest.raises(AssertionError, match="but the page shows"):
        assert_shown(shown, printed, "command")


def test_dots_match_any_lines_or_text() -> None:
    assert_shown(["…", "b", "…"], "a\na\nb  \n", "command")
    assert_shown(["a", "…", "b"], "a\nb\n", "command")
    assert_shown(["… b …"], "a b c\n", "command")
