"""Trajectories in ATIF, the Agent Trajectory Interchange Format of Harbor: one JSON document per seat and match.

A prompt is a `user` step, and a reply an `agent` step, with tool calls and their results in games with tools. The
document also holds the match's record, so it can be replayed (`gymposium audit`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.errors import BadRecord
from gymposium.records import Problem, Record
from gymposium.records.conversation import Conversation, ConversationTurn
from gymposium.runs.samples import SampledGroup, SampledRow, SampledTrajectory, SampledTurn, SamplesIndex

VERSION = "ATIF-v1.7"
"""The format's version. Later versions add only audio."""
RECORD = "gymposium"
"""The key of the match's record and the seat in a document's `extra`."""
TRAINING = "training"
"""The key of rewards and advantages in the `extra` of a document and its steps."""


def make_trajectory(
    record: Record, seat: int, conversation: Conversation, sample: Sample | None = None
) -> dict[str, Any]:
    """Return a seat's trajectory in a match as plain data. `sample` adds the tokens and rewards of a training run.

    Raises `BadRecord` for a seat without turns, which the format cannot express, and for a sample of another match."""
    if not conversation.turns:
        raise BadRecord(f"Match {record.id}: seat {seat} has no turns. Export the other seats.")
    turns = len(conversation.turns)
    if sample is not None and len(sample.trajectory.readings) != turns:
        raise BadRecord(
            f"Match {record.id}, seat {seat}: the sample has {len(sample.trajectory.readings)} turns, but the record "
            f"{turns}."
        )
    steps: list[dict[str, Any]] = []
    for number, turn in enumerate(conversation.turns):
        if turn.results:
            steps[-1]["observation"] = {
                "results": [
                    {"source_call_id": call["tool_call_id"], "content": text}
                    for call, text in zip(steps[-1]["tool_calls"], turn.results, strict=True)
                ]
            }
        else:
            steps.append({"source": "user", "message": turn.prompt})
        steps.append(_make_agent_step(turn, number, sample))
    agent: dict[str, Any] = {"name": record.players[seat], "version": record.versions.get("gymposium", "unknown")}
    if conversation.tools:
        agent["tool_definitions"] = [tool.as_function for tool in conversation.tools]
    extra: dict[str, Any] = {RECORD: {"seat": seat, "record": json.loads(record.line())}}
    if sample is not None:
        extra[TRAINING] = sample.describe()
    return {
        "schema_version": VERSION,
        "session_id": record.id,
        "trajectory_id": f"{record.id}/{seat}",
        "agent": agent,
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
        "final_metrics": _make_final_metrics(record, seat, conversation, len(steps)),
        "extra": extra,
    }


def _make_agent_step(turn: ConversationTurn, number: int, sample: Sample | None) -> dict[str, Any]:
    step: dict[str, Any] = {"source": "agent", "message": turn.answer, "extra": {"reading": turn.turn.reading}}
    if turn.thoughts:
        step["reasoning_content"] = turn.thoughts
    if turn.calls:
        step["tool_calls"] = [
            {"tool_call_id": f"call-{number}-{n}", "function_name": call.name, "arguments": dict(call.arguments)}
            for n, call in enumerate(turn.calls)
        ]
    metrics: dict[str, Any] = {}
    if (usage := turn.turn.usage) is not None:
        counts = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        metrics = {name: count for name, count in counts.items() if count is not None}
        metrics["extra"] = {"seconds": round(usage.seconds, 6)}
        if usage.cost is not None:
            metrics["extra"]["cost"] = usage.cost  # in the currency of the player's prices, so not in cost_usd
    if sample is not None:
        step["extra"][TRAINING] = sample.describe_turn(number)
        metrics |= sample.list_tokens(number)
    if metrics:
        step["metrics"] = metrics
    return step


def _make_final_metrics(record: Record, seat: int, conversation: Conversation, steps: int) -> dict[str, Any]:
    metrics: dict[str, Any] = {"total_steps": steps}
    usages = [turn.turn.usage for turn in conversation.turns if turn.turn.usage is not None]
    for name in ("prompt_tokens", "completion_tokens"):
        counts = [getattr(usage, name) for usage in usages]
        if len(counts) == len(conversation.turns) and None not in counts:
            metrics[f"total_{name}"] = sum(counts)
    if not record.ending.broke_off:
        metrics["extra"] = {"return": record.returns[seat], "result": record.results[seat]}
    return metrics


@dataclass(frozen=True, slots=True)
class Sample:
    """A sampled trajectory of a training run."""

    group: SampledGroup
    trajectory: SampledTrajectory

    def describe(self) -> dict[str, Any]:
        """Return where the trajectory was learned from, and its reward."""
        return {
            "step": self.group.step,
            "group": self.group.number,
            "policy": self.trajectory.policy,
            "reward": self.trajectory.reward,
            "parts": self.trajectory.parts,
        }

    def describe_turn(self, number: int) -> dict[str, Any]:
        """Return a turn's share of the reward and its advantage."""
        return {"reward": self.trajectory.rewards[number], "advantage": self.trajectory.advantages[number]}

    def list_tokens(self, number: int) -> dict[str, Any]:
        """Return a turn's token ids and log-probabilities as ATIF's metrics; {} if its tokens were not kept."""
        turns: list[tuple[SampledRow, SampledTurn]] = [
            (row, turn) for row in self.trajectory.rows or () for turn in row.turns
        ]
        if not turns:
            return {}
        row, turn = turns[number]
        return {
            "prompt_tokens": turn.start,
            "completion_tokens": turn.stop - turn.start,
            "prompt_token_ids": row.ids[: turn.start],
            "completion_token_ids": row.ids[turn.start : turn.stop],
            "logprobs": turn.engine,
        }


class RunSamples:
    """The samples of a training run, by match and seat. It keeps places in the file, and one group in memory."""

    def __init__(self, path: Path) -> None:
        """A missing file has no samples. Raises `BadRecord` for an invalid group."""
        self._index = SamplesIndex(path)
        self._places: dict[tuple[str, int], tuple[int, int]] = {}
        self._group: SampledGroup | None = None
        self._index.refresh()
        for place in self._index.places():
            group = self._read(place)
            self._places |= {(one.match, group.seat): place for one in group.trajectories if one.match is not None}

    @property
    def problems(self) -> list[Problem]:
        """Problems with lines that could not be read."""
        return self._index.problems

    def _read(self, place: tuple[int, int]) -> SampledGroup:
        if self._group is None or (self._group.step, self._group.number) != place:
            self._group = self._index.group(*place)
            assert self._group is not None, "the index lists this place"
        return self._group

    def find(self, match: str, seat: int) -> Sample | None:
        """Return the sample of this seat in this match, or None."""
        if (place := self._places.get((match, seat))) is None:
            return None
        group = self._read(place)
        return Sample(group, next(one for one in group.trajectories if one.match == match))
