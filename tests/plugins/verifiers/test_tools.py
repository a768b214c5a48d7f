"""The task set with tools, which other harnesses and environments play."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gymposium_verifiers_tools import ToolMatchTaskset
from gymposium_verifiers_tools.taskset import ToolMatchesConfig

from .endpoint import Said, legal_moves
from .evaluations import MODEL, evaluate, only_trace, verified

ID = "gymposium-verifiers-tools"
ENV = {"agent": {"harness": {"id": "calling-harness"}, "runtime": {"type": "subprocess"}}}


@pytest.fixture(autouse=True)
def harness_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    sys.modules.pop("calling_harness", None)


def call_tool(name: str, **arguments: object) -> Said:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": function}]}


def move(request: Mapping[str, Any], rng: random.Random) -> Said:
    """Play a legal move, and stop at the end."""
    text = request["messages"][-1]["content"]
    assert [tool["function"]["name"] for tool in request["tools"]] == ["move"]
    if moves := legal_moves(text):
        return call_tool("move", move=rng.choice(moves))
    assert text.startswith("The match is over")
    return {"content": "Done."}


def test_game_is_played_by_another_harness(tmp_path: Path) -> None:
    episodes, requests = evaluate(tmp_path / "run", script=move, tasks=2, id=ID, game="tic_tac_toe", env=ENV)
    records = {record.id: record for record in verified(tmp_path / "run")}
    assert len(episodes) == 2
    for episode in episodes:
        [trace] = episode.traces
        record = records[trace.info["gymposium"]["match"]]
        assert trace.reward == record.returns[trace.task.data.seat]
        assert trace.metrics["replies"] == sum(turn["seat"] == trace.task.data.seat for turn in record.turns)
        assert record.players[trace.task.data.seat] == MODEL
    assert requests[0]["messages"][0]["content"].startswith("Tic-tac-toe on a 3 by 3 board.")


@pytest.mark.skipif(find_spec("uv") is None, reason="the harness needs uv: tox run -e verifiers")
def test_game_is_played_by_the_chat_program_of_verifiers(tmp_path: Path) -> None:
    env = {"agent": {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}}
    trace = only_trace(evaluate(tmp_path / "run", script=move, tasks=1, id=ID, game="tic_tac_toe", env=env)[0])
    [record] = verified(tmp_path / "run")
    assert trace.ok
    assert trace.reward == record.returns[0]


def test_world_offers_its_own_tools(tmp_path: Path) -> None:
    def script(request: Mapping[str, Any], rng: random.Random) -> Said:
        said = [message for message in request["messages"] if message["role"] == "assistant"]
        first = call_tool("search_inbox", keywords=["order"])
        return [first, call_tool("return_final_answer", answer="?", sources=[]), {"content": "Done."}][len(said)]

    trace = only_trace(evaluate(tmp_path / "run", script=script, tasks=1, id=ID, game="mail", env=ENV)[0])
    [record] = verified(tmp_path / "run")
    assert trace.reward == record.returns[0]
    assert trace.metrics["replies"] == record.reports[0]["calls"] == 2.0


def test_silent_agent_forfeits(tmp_path: Path) -> None:
    def silent(request: Mapping[str, Any], rng: random.Random) -> Said:
        return {"content": "I would rather not."}

    trace = only_trace(
        evaluate(tmp_path / "run", script=silent, tasks=1, id=ID, game="connect_four", seats=0, env=ENV)[0]
    )
    assert (trace.reward, trace.metrics["forfeit"]) == (-1.0, 1.0)


def test_tasks_have_prompts_and_keys() -> None:
    taskset = ToolMatchTaskset(ToolMatchesConfig(id=ID, game="kuhn_poker", seed=5))
    first, second, third = taskset.take(3)
    assert [task.key for task in (first, second, third)] == [
        "kuhn_poker seed=5 seats=0",
        "kuhn_poker seed=5 seats=1",
        "kuhn_poker seed=6 seats=0",
    ]
    assert "Legal moves: " in str(first.data.prompt)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"seats": "all"}, "one agent plays one seat here"),
        ({"reply": "tags"}, "every reply is a tool call here"),
        ({"game": "no_such_game"}, "no_such_game"),
    ],
)
def test_other_settings_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        ToolMatchesConfig(**{"id": ID, "game": "kuhn_poker", **settings})
