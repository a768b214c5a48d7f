"""The page on other trainers: it shows every program, and its wrapper writes records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gymnasium

import gymposium  # noqa: F401  (registers the environments)
from gymposium.records import verify_file

from .conftest import PROGRAMS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "other-trainers.md"


def test_the_page_shows_every_program() -> None:
    shown = re.findall(r"\{literalinclude\} \.\./examples/trainers/(\S+)\n:language: python\n```", PAGE.read_text())
    assert sorted(shown) == sorted(path.name for path in PROGRAMS.glob("*.py"))
    assert len(shown) == len(set(shown)) == 6


def test_every_program_has_a_test() -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert all(f'program("{path.stem}")' in tests for path in PROGRAMS.glob("*.py"))


def test_the_wrapper_of_the_page_writes_records_that_verify(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(import gymnasium.*?)```", PAGE.read_text(), re.DOTALL)
    defined: dict[str, Any] = {}
    exec(code, defined)
    env = defined["Recorded"](gymnasium.make("TextTicTacToe-v0", seat="random"), tmp_path / "matches.jsonl")
    for seed in range(5):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, _, over, _, info = env.step(info["legal_moves"][0])
    env.close()
    verified = verify_file(tmp_path / "matches.jsonl")
    assert (verified.matches, verified.problems) == (5, [])
