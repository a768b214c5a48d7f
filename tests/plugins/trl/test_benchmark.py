"""The benchmark of the adapter runs. Its speed does not matter here."""

from __future__ import annotations

from pathlib import Path

import pytest

from .runs import QUIET

pytestmark = [*QUIET, pytest.mark.filterwarnings("default")]


def test_benchmark_sides_play_the_same_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[3])
    from benchmarks.adapters.trl import measure

    data, text = measure(1, tiny=True)
    assert "16 matches of tic-tac-toe a step" in text
    ours, hand = data["tokens"]["gymposium"][0], data["tokens"]["by hand"][0]
    assert abs(ours - hand) < 0.2 * hand
    assert data["ours_to_hand"][0] > 0
