"""The page of metrics names what a run shows, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gymposium_train.run import start_run

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
EVERYTHING = (
    "stages=[{opponents={random=1.0, self=1.0, past=1.0}, window=4}]",
    "rollout.groups=6",
    "pool.every=1",
    "credit.kind=gae",
    "kl.weight=0.01",
    "sft.weight=0.1",
    "sft.batch=8",
    "cold_start.games=60",
    "evaluation.every=1",
    "steps=3",
    "control=true",
)
"""All that adds metrics of its own."""


def documented() -> set[str]:
    """Every name on the page, those by opponent and by game too, with words in capitals for what varies."""
    found: set[str] = set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if row := re.fullmatch(r"\| `([^`]+)` \| .+ \| (.+?) \| ?(.*?) ?\|", line):
            name, also = row[1], row[3].split(", ") if row[3] else []
            found.add(name)
            assert set(also) <= {"opponent", "game"}, line
            if "opponent" in also:
                found.add(f"{name}/OPPONENT")
            if "game" in also:
                found.add(name.replace("rollout/", "rollout/GAME/"))
    return found


def matches(pattern: str, name: str) -> bool:
    return bool(re.fullmatch(re.sub("GAME|OPPONENT|PART", "[^/]+", pattern), name))


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, quick_config: Any) -> set[str]:
    """Every name in the metrics of a run that has all that there can be."""
    run = start_run(tmp_path_factory.mktemp("runs") / "all", quick_config(*EVERYTHING))
    return {name for entry in run.metrics() for name in entry} - {"stage", "step"}


def test_what_a_run_shows_is_documented(shown: set[str]) -> None:
    names = documented()
    assert sorted(name for name in shown if not any(matches(pattern, name) for pattern in names)) == []


def test_what_is_documented_is_shown_by_a_run(shown: set[str]) -> None:
    assert sorted(pattern for pattern in documented() if not any(matches(pattern, name) for name in shown)) == []
