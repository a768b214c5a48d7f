"""The programs of docs/examples/trainers, and the matches that they play."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gymposium.envs.gym import TextGameEnv
from gymposium.envs.table import OutsideSeat
from gymposium.match import MatchResult
from gymposium.records import RecordWriter, verify_file

PROGRAMS = Path(__file__).parents[2] / "docs" / "examples" / "trainers"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports a program by its name."""
    monkeypatch.syspath_prepend(PROGRAMS)
    return import_module


@pytest.fixture
def matches(monkeypatch: pytest.MonkeyPatch) -> list[MatchResult]:
    """The matches that Gymnasium environments of this process end, in order."""
    found: list[MatchResult] = []
    step = TextGameEnv.step

    def noted(env: TextGameEnv, action: Any) -> Any:
        outcome = step(env, action)
        if env.played is not None:
            found.append(env.played)
        return outcome

    monkeypatch.setattr(TextGameEnv, "step", noted)
    return found


@pytest.fixture
def replies_of_learner(tmp_path: Path) -> Callable[[list[MatchResult]], int]:
    """Counts the learner's replies in matches that are complete, without a forfeit, and whose records verify."""

    def count(played: list[MatchResult]) -> int:
        with RecordWriter(tmp_path / "matches.jsonl") as writer:
            for match in played:
                assert match.ending.seat is None
                writer.write(match)
        verified = verify_file(tmp_path / "matches.jsonl")
        assert (verified.matches, verified.problems) == (len(played), [])
        return sum(isinstance(match.job.players[turn.seat], OutsideSeat) for match in played for turn in match.turns)

    return count
