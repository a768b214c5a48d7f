"""Each pitfall is held by a test that there is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "pitfalls.md").read_text(encoding="utf-8")


def test_every_test_that_is_named_is_there() -> None:
    named = re.findall(r"`(tests/\S+\.py)::(\w+)`", PAGE)
    assert len(named) > 40
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / file).is_file() or f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert missing == []


def test_every_pitfall_names_one() -> None:
    pitfalls = re.split(r"\n(?=\*\*)", PAGE)[1:]
    assert len(pitfalls) > 40
    assert [one.splitlines()[0] for one in pitfalls if "`tests/" not in one] == []
