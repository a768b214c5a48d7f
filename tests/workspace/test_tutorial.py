"""The tutorial "your own game" happens as it is told: its files are written, its changes made and its commands run in
the order of the page, and what they print is what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorials" / "your-own-game.md"
BLOCK = re.compile(r"^```(?:\{code-block\} )?(\w+)\n(?::caption: ([^\n]*)\n\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)
SKIPPED = "…"
"""On a line of its own it stands for any lines of output, within a line for any text."""


def test_the_tutorial_happens_as_it_is_told(tmp_path: Path) -> None:
    kinds = set()
    for kind, caption, body in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
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
def test_what_is_shown_and_not_printed_is_found_out(shown: list[str], printed: str) -> None:
    with pytest.raises(AssertionError, match="but the page shows"):
        assert_shown(shown, printed, "command")


def test_dots_stand_for_any_lines_or_text() -> None:
    assert_shown(["…", "b", "…"], "a\na\nb  \n", "command")
    assert_shown(["a", "…", "b"], "a\nb\n", "command")
    assert_shown(["… b …"], "a b c\n", "command")
