"""The page on other trainers shows every program."""

from __future__ import annotations

import re
from pathlib import Path

from .conftest import PROGRAMS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "other-trainers.md"


def test_page_shows_every_program() -> None:
    shown = re.findall(r"\{literalinclude\} \.\./examples/trainers/(\S+)\n:language: python\n```", PAGE.read_text())
    assert sorted(shown) == sorted(path.name for path in PROGRAMS.glob("*.py"))
    assert len(shown) == len(set(shown)) == 6


def test_every_program_has_a_test() -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert all(f'program("{path.stem}")' in tests for path in PROGRAMS.glob("*.py"))
