"""Unplayable settings are refused with a reason before the first sample."""

from __future__ import annotations

from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai.dataset import Sample

from gymposium.errors import BadOption, GymposiumError, UnknownName, WrongType
from gymposium_inspect import make_samples, match, outcome, play, world

from .scripted import evaluated


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ({"game": "tic_tac_to"}, "tic_tac_toe"),
        ({"game": "tic_tac_toe", "matches": 0}, "must be at least 1"),
        ({"game": "tic_tac_toe", "matches": 2.5}, "integer"),
        ({"game": "tic_tac_toe", "matches": 3}, "Use a multiple of 2"),
        ({"game": "tic_tac_toe", "seed": "one"}, "integer"),
        ({"game": "tic_tac_toe", "seat": 2}, "from 0 to 1"),
        ({"game": "tic_tac_toe", "seat": "first"}, "use all"),
        ({"game": "tic_tac_toe", "opponent": "mcts"}, "mcts-N"),
        ({"game": "tic_tac_toe", "opponent": ["random", "random"]}, "2 players for 1 other seat"),
        ({"game": "tic_tac_toe", "on_illegal": "ignore"}, "forfeit, random"),
        ({"game": "tic_tac_toe", "prompt": "long"}, "'full' or 'compact'"),
        ({"game": "tic_tac_toe", "reply": "prose"}, "move, tags, json"),
        ({"game": "tic_tac_toe", "reply": "calls"}, "gymposium/world"),
    ],
)
def test_unplayable_matches_are_refused(args: dict[str, Any], reason: str) -> None:
    with pytest.raises(GymposiumError, match=reason):
        match(**args)
    with pytest.raises(GymposiumError, match=reason):
        evaluated("gymposium/match", args=args)


@pytest.mark.usefixtures("echoes")
def test_unplayable_worlds_are_refused() -> None:
    with pytest.raises(UnknownName):
        world("mial")
    with pytest.raises(BadOption, match="tic_tac_toe has no tools"):
        world("tic_tac_toe")
    with pytest.raises(BadOption, match="must be at least 1"):
        world("echoes", matches=-1)
    with pytest.raises(BadOption, match=r"describes its arguments with \$defs, \$ref, which Inspect cannot declare"):
        world("echoes(schema=reference)")


@pytest.mark.usefixtures("echoes")
def test_refuses_models_without_tool_support(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the provider of these tests were one of those that do not pass tools on, which need keys and servers."""
    monkeypatch.setattr("gymposium_inspect.playing._WITHOUT_TOOLS", {"mockllm"})
    log = evaluated("gymposium/world", args={"game": "echoes"}, status="error")
    assert log.error is not None
    assert "mockllm/model takes no tools" in log.error.message
    assert not [event for sample in log.samples or () for event in sample.events if event.event == "model"]


def test_solver_requires_match_samples() -> None:
    log = evaluated(Task(dataset=[Sample("Hello")], solver=play(), scorer=outcome()), status="error")
    assert log.error is not None
    assert "Make the dataset with gymposium_inspect.make_samples()" in log.error.message
    with pytest.raises(WrongType, match="must be an integer, not False"):
        make_samples("tic_tac_toe", matches=False)
