"""Exports agree with the types of Harbor, and of the clients of OpenAI and Anthropic: `tox run -e harbor`."""

from __future__ import annotations

import json

import pytest
from pydantic import TypeAdapter
from tests.arena.audit.test_atif import CallingExpert, export_records
from tests.gymposium.runs.test_exports import CALLED, play_thinkers, trajectory_row
from tests.gymposium.test_records import matches, parsed

from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.records.conversation import list_conversations
from gymposium.runs.exports.atif import Sample, make_trajectory
from gymposium.runs.exports.chats import make_chat, to_anthropic, to_openai
from gymposium.runs.samples import SampledGroup

harbor = pytest.importorskip("harbor.models.trajectories", reason="harbor is not installed: tox run -e harbor")


def test_harbor_reads_every_match() -> None:
    records = [
        parsed(played)
        for game in ("tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)")
        for policy in ("forfeit", "random", "retry(2)")
        for played in matches(game, policy)
    ]
    trajectories = export_records([*records, play_thinkers()])
    assert len(trajectories) > 50
    for trajectory in trajectories:
        read = harbor.Trajectory.model_validate(trajectory)
        assert read.to_json_dict() == json.loads(json.dumps(trajectory))


def test_harbor_reads_tool_calls() -> None:
    [played] = play([MatchJob("m", load_game("mail"), [CallingExpert()], 3)])  # type: ignore[list-item]
    [trajectory] = export_records([parsed(played)])
    read = harbor.Trajectory.model_validate(trajectory)
    assert read.steps[1].tool_calls[0].tool_call_id == read.steps[1].observation.results[0].source_call_id


def test_harbor_reads_tokens_and_rewards() -> None:
    record = parsed(matches("kuhn_poker", n=1, share=0)[0])
    turns = sum(turn["seat"] == 0 for turn in record.turns)
    one = {
        "match": record.id,
        "policy": 4,
        "result": "win",
        "end": None,
        "return": 1.0,
        "reward": 1.0,
        "parts": {"utility": 1.0},
        "readings": ["move"] * turns,
        "rewards": [1.0] * turns,
        "advantages": [0.5] * turns,
        "values": [],
        "targets": [],
        "rows": [*map(trajectory_row, range(turns))],
    }
    about = {"step": 1, "group": 0, "game": "kuhn_poker", "seat": 0, "opponent": "x", "version": None, "stage": 1}
    group = SampledGroup.model_validate({**about, "tied": False, "trajectories": [one]})
    sample = Sample(group, group.trajectories[0])
    read = harbor.Trajectory.model_validate(make_trajectory(record, 0, list_conversations(record)[0], sample))
    said = [step.metrics for step in read.steps if step.source == "agent"]
    assert [metrics.logprobs for metrics in said] == [[-0.5, -0.25]] * turns
    assert said[0].completion_token_ids == [8, 9]


def test_chats_have_the_types_of_the_clients() -> None:
    openai = pytest.importorskip("openai.types.chat", reason="openai is not installed: tox run -e harbor")
    anthropic = pytest.importorskip("anthropic.types", reason="anthropic is not installed: tox run -e harbor")
    [played] = play([MatchJob("m", load_game("mail"), [CallingExpert()], 3)])  # type: ignore[list-item]
    record = parsed(played)
    for chat in (CALLED, make_chat(record, 0, list_conversations(record)[0])):
        asked = to_openai(chat)
        TypeAdapter(list[openai.ChatCompletionMessageParam]).validate_python(asked["messages"])
        TypeAdapter(list[openai.ChatCompletionToolParam]).validate_python(asked["tools"])
        said = to_anthropic(chat)
        TypeAdapter(list[anthropic.MessageParam]).validate_python(said["messages"])
        TypeAdapter(list[anthropic.ToolParam]).validate_python(said["tools"])
