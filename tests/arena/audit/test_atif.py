"""Exported trajectories give the same records, and every changed step is reported."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.gymposium.test_records import matches, parsed

from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, Reply
from gymposium.records import Record
from gymposium.records.conversation import list_conversations
from gymposium.replies.reading import get_reader
from gymposium.runs.exports.atif import make_trajectory
from gymposium_arena.audit import Audit, audit_logs

GAMES = ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)", "phantom_ttt", "openspiel:kuhn_poker"]


def export_records(records: Sequence[Record]) -> list[dict[str, Any]]:
    return [
        make_trajectory(record, seat, conversation)
        for record in records
        for seat, conversation in enumerate(list_conversations(record))
        if conversation.turns
    ]


def audit(path: Path, trajectories: Sequence[dict[str, Any]]) -> Audit:
    path.write_text("".join(json.dumps(one) + "\n" for one in trajectories), encoding="utf-8")
    return audit_logs([path])


@given(
    game=st.sampled_from(GAMES),
    policy=st.sampled_from(["forfeit", "random", "retry(2)", "penalty(0.5)"]),
    reader=st.sampled_from(["move", "tags", "json"]),
    share=st.sampled_from([0.0, 0.1, 0.4]),
)
@settings(max_examples=30)
def test_exported_records_are_read_back(game: str, policy: str, reader: str, share: float) -> None:
    records = [parsed(played) for played in matches(game, policy, 2, share, reader)]
    with TemporaryDirectory() as folder:
        found = audit(Path(folder) / "log.jsonl", export_records(records))
    assert found.problems == []
    told = [record for record in records if record.turns and not record.ending.broke_off]
    assert found.records == told


class CallingExpert:
    """Plays the mail world as its expert does, with calls in the form of a chat template after thoughts."""

    name, style, reader = "caller", "full", get_reader("tools-hermes")

    def __init__(self) -> None:
        self._expert = make_player("mail-expert")

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        moves = [self._expert.reader.extract_move(reply.text) for reply in self._expert.act(asks)]
        return [Reply(f"<think>Next.</think>\n{self.reader.answer(move or '')}") for move in moves]


def test_tool_calls_and_results_are_steps(tmp_path: Path) -> None:
    pytest.importorskip("gymposium_worlds", reason="gymposium-worlds is not installed")
    [played] = play([MatchJob("m", load_game("mail"), [CallingExpert()], 3)])  # type: ignore[list-item]
    record = parsed(played)
    [trajectory] = export_records([record])
    user, *agent = trajectory["steps"]
    assert user["source"] == "user"
    assert {tool["function"]["name"] for tool in trajectory["agent"]["tool_definitions"]} >= {
        call["function_name"] for step in agent for call in step["tool_calls"]
    }
    for step in agent:
        assert (step["source"], step["message"], step["reasoning_content"]) == ("agent", "", "Next.")
    for step in agent[:-1]:
        ids = [call["tool_call_id"] for call in step["tool_calls"]]
        assert [result["source_call_id"] for result in step["observation"]["results"]] == ids
    found = audit(tmp_path / "log.json", [trajectory])
    assert (found.problems, found.records) == ([], [record])


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "prompt": (lambda one: one["steps"][0].update(message="Hi"), "steps[0].message is 'Hi'"),
    "reply": (lambda one: one["steps"][1].update(message="c3"), "steps[1].message is 'c3'"),
    "missing step": (lambda one: one["steps"].pop(), "steps is ["),
    "source": (lambda one: one["steps"][1].update(source="user"), "steps[1].source is 'user'"),
    "agent": (lambda one: one["agent"].update(name="me"), "agent.name is 'me'"),
    "session": (lambda one: one.update(session_id="other"), "session_id is 'other'"),
    "result": (lambda one: one["final_metrics"]["extra"].update(result="win!"), "final_metrics.extra.result is 'win!'"),
    "seat": (lambda one: one["extra"]["gymposium"].update(seat=2), "extra.gymposium.seat is 2"),
    "other seat": (lambda one: one["extra"]["gymposium"].update(seat=1), "trajectory_id is"),
    "recorded reply": (
        lambda one: one["extra"]["gymposium"]["record"]["turns"][0].update(text="c3"),
        "but the replay gives 'c3'",
    ),
    "recorded return": (lambda one: one["extra"]["gymposium"]["record"]["returns"].reverse(), "final_metrics"),
    "no record": (lambda one: one.pop("extra"), "gymposium export did not write it"),
    "tokens": (
        lambda one: one["steps"][1].update(
            metrics={"prompt_token_ids": [1], "completion_token_ids": [2, 3], "logprobs": [-1.0]}
        ),
        "step 2: the counts of tokens and log-probabilities",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_reported(change: str, tmp_path: Path) -> None:
    record = next(one for one in map(parsed, matches("tic_tac_toe", share=0)) if one.results[0] == "win")
    trajectory = json.loads(json.dumps(export_records([record])[0]))
    apply, reason = CHANGES[change]
    apply(trajectory)
    found = audit(tmp_path / "log.jsonl", [trajectory])
    [(where, problem)] = found.problems
    assert where == f"{tmp_path / 'log.jsonl'}:1"
    assert reason in problem
    assert found.records == []


def test_other_keys_and_versions_are_accepted_and_duplicates_reported(tmp_path: Path) -> None:
    record = parsed(matches("tic_tac_toe", n=1, share=0)[0])
    first, second = export_records([record])
    first |= {"schema_version": "ATIF-v1.8", "notes": "annotated"}
    first["steps"][0]["timestamp"] = "2026-11-30T12:00:00Z"
    found = audit(tmp_path / "log.jsonl", [first, second])
    assert (found.problems, found.records) == ([], [record])
    again = audit(tmp_path / "log.jsonl", [first, second, second])
    assert [problem for _, problem in again.problems] == [
        f"duplicate episode {record.id}, first seen in {tmp_path / 'log.jsonl'}:1"
    ]


@pytest.mark.parametrize("changed", [0, 1])
def test_another_seat_stands_for_a_changed_one(changed: int, tmp_path: Path) -> None:
    record = parsed(matches("tic_tac_toe", n=1, share=0)[0])
    trajectories = export_records([record])
    trajectories[changed]["steps"][0]["message"] = "Hi"
    found = audit(tmp_path / "log.jsonl", trajectories)
    [(where, problem)] = found.problems
    assert where == f"{tmp_path / 'log.jsonl'}:{changed + 1}"
    assert problem.startswith("steps[0].message is 'Hi'")
    assert found.records == [record]
