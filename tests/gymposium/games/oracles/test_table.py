"""The documentation's table of oracles lists every game, and tests that compare it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from gymposium.plugins.host import host

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "reference" / "games.md"
WITHOUT_ORACLE = {"mcp", "openenv", "trace"}
"""Games whose rules are those of a server or of Python."""
ROW = re.compile(r"\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|")


class Row(NamedTuple):
    game: str
    engine: str
    oracle: str
    differences: str


def read_rows() -> list[Row]:
    text = PAGE.read_text(encoding="utf-8").partition("## Rules and their oracles\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    rows = [Row(*found.groups()) for line in lines if (found := ROW.fullmatch(line))]
    assert len(rows) == len(lines)
    return rows


def test_every_game_is_listed_once() -> None:
    assert sorted(row.game for row in read_rows()) == sorted(host().games)


@pytest.mark.parametrize("row", read_rows(), ids=lambda row: row.game)
def test_oracle_exists_and_names_the_game(row: Row) -> None:
    paths = re.findall(r"`(\S+\.py)`", row.oracle)
    if row.game in WITHOUT_ORACLE:
        assert row.oracle == "none"
        return
    (path,) = paths
    text = (ROOT / "tests" / path).read_text(encoding="utf-8")
    title = host().games[row.game].title
    assert re.search(rf"\b({row.game}|{re.escape(title)})\b", text, re.IGNORECASE), path
    assert "def test_" in text


def test_every_oracle_is_listed() -> None:
    listed = set(re.findall(r"oracles/(test_\w+\.py)", PAGE.read_text(encoding="utf-8")))
    assert listed == {path.name for path in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}
