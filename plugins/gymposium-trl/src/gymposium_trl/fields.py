"""TRL's fields for matches: one token row each, with masks and log-probabilities; groups; and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.match import MatchResult
from gymposium.records.trajectories import Trajectory
from gymposium.util.visible import quantity
from gymposium_agents.chat.rows import make_token_rows


def make_trajectory(played: MatchResult, seat: int) -> Trajectory | None:
    """Return the trajectory for training; None if the match broke off, another seat forfeited, or the seat had no turn.

    Raises `GymposiumError` if the seat's first prompt left no space for a reply."""
    if played.ending.broke_off or played.ending.seat not in (None, seat):
        return None
    trajectory = Trajectory.from_match(played, seat)
    if trajectory.turns:
        return trajectory
    if trajectory.truncated:
        raise GymposiumError(
            f"The first prompt of match {played.job.id} has {quantity(len(trajectory.unanswered), 'token')}, which "
            f"leaves no space "
            f"for a reply in the model's context. Use prompt=compact, or a model with a larger context."
        )
    return None


def build_fields(trajectories: Sequence[Trajectory | None], empty: int) -> dict[str, list[Any]]:
    """Return TRL's fields: `prompt_ids` up to the first sampled token, `completion_ids` from there, `logprobs`,
    `env_mask` (1 for sampled tokens), and `trajectory` for reward functions.

    TRL needs a row for every prompt, so a None trajectory becomes a row with the masked token `empty`."""
    rows = [([empty], [empty], [0.0], [0]) if one is None else _make_row(one) for one in trajectories]
    names = ("prompt_ids", "completion_ids", "logprobs", "env_mask")
    fields: dict[str, list[Any]] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return {**fields, "trajectory": [*trajectories]}


def _make_row(trajectory: Trajectory) -> tuple[list[int], list[int], list[float], list[int]]:
    rows = make_token_rows([turn.trace for turn in trajectory.turns])
    if len(rows) > 1:
        raise GymposiumError(
            f"The chat template rewrote the history of match {trajectory.match}, which split its tokens into "
            f"{len(rows)} rows. TRL needs one row per match. Please report this with the chat template."
        )
    (row,) = rows
    start = row.mask.index(1)
    return [*row.ids[:start]], [*row.ids[start:]], [*row.logprobs[start:]], [*row.mask[start:]]


def find_groups(prompts: Sequence[str], trajectories: Sequence[Trajectory | None]) -> list[list[int]]:
    """Return the indices of each group's trajectories. A group consists of neighbors with the same prompt, without
    None."""
    groups: list[list[int]] = []
    for place, (prompt, trajectory) in enumerate(zip(prompts, trajectories, strict=True)):
        if place == 0 or prompt != prompts[place - 1]:
            groups.append([])
        if trajectory is not None:
            groups[-1].append(place)
    return [group for group in groups if group]


def compute_metrics(trajectories: Sequence[Trajectory | None]) -> dict[str, float]:
    """Return a batch's metrics: turns per match, the share of failed replies, and the share of matches excluded from
    training."""
    learned = [trajectory for trajectory in trajectories if trajectory is not None]
    metrics = {"match/left_out": 1.0 - len(learned) / len(trajectories)}
    if learned:
        turns = [*chain.from_iterable(trajectory.turns for trajectory in learned)]
        metrics["match/turns"] = len(turns) / len(learned)
        metrics["match/failed_replies"] = sum(turn.reading != "move" for turn in turns) / len(turns)
    return metrics
