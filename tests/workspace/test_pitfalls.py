"""The pages on pitfalls and security name existing tests for their claims."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PITFALLS = ROOT / "docs" / "explanation" / "pitfalls.md"
SECURITY = ROOT / "SECURITY.md"


@pytest.mark.parametrize("page", [PITFALLS, SECURITY], ids=lambda page: page.stem)
def test_every_named_test_exists(page: Path) -> None:
    named = re.findall(r"`(tests/\S+\.py)::(\w+)`", page.read_text(encoding="utf-8"))
    assert len(named) > 40
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / file).is_file() or f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert missing == []


def test_every_pitfall_names_a_test() -> None:
    pitfalls = re.split(r"\n(?=\*\*)", PITFALLS.read_text(encoding="utf-8"))[1:]
    assert len(pitfalls) > 40
    assert [one.splitlines()[0] for one in pitfalls if "`tests/" not in one] == []


def test_every_threat_names_a_test() -> None:
    threats = [line for line in SECURITY.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    assert len(threats) > 20
    assert [line for line in threats if "`tests/" not in line] == []
