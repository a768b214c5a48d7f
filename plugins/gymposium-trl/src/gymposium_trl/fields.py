"""What TRL takes of matches: one row of tokens for each, with masks and log-probabilities; groups; and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.match import MatchResult
from gymposium.records.trajectories import Trajectory
from gymposium.util.visible import quantity
from gymposium_agents.chat.rows import token_rows


def make_trajectory(played: MatchResult, seat: int) -> Trajectory | None:
    """Return the trajectory to learn from, or None: the match broke off, another seat forfeited it, or
    the seat was never asked.

    Raises `GymposiumError` if the first prompt of the seat left no room for a reply."""
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
    """Return the fields of TRL: `prompt_ids` up to the first sampled token, `completion_ids` from there to the last,
    `logprobs`, `env_mask` (1 for a sampled token), and `trajectory` for reward functions.

    TRL needs a row for every prompt. Where there is nothing to learn from it has one token `empty` that is masked."""
    rows = [([empty], [empty], [0.0], [0]) if one is None else _make_row(one) for one in trajectories]
    names = ("prompt_ids", "completion_ids", "logprobs", "env_mask")
    fields: dict[str, list[Any]] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return {**fields, "trajectory": [*trajectories]}


def _make_row(trajectory: Trajectory) -> tuple[list[int], list[int], list[float], list[int]]:
    rows = token_rows([turn.trace for turn in trajectory.turns])
    if len(rows) > 1:
        raise GymposiumError(
            f"The chat template rewrote the history of match {trajectory.match}, which split its tokens into "
            f"{len(rows)} rows. TRL needs one row per match. Please report this with the chat template."
        )
    (row,) = rows
    start = row.mask.index(1)
    return [*row.ids[:start]], [*row.ids[start:]], [*row.logprobs[start:]], [*row.mask[start:]]


def find_groups(prompts: Sequence[str], trajectories: Sequence[Trajectory | None]) -> list[list[int]]:
    """Return the places of the trajectories of each group: neighbours with the same prompt, without those that are
    None."""
    groups: list[list[int]] = []
    for place, (prompt, trajectory) in enumerate(zip(prompts, trajectories, strict=True)):
        if place == 0 or prompt != prompts[place - 1]:
            groups.append([])
        if trajectory is not None:
            groups[-1].append(place)
    return [group for group in groups if group]


def compute_metrics(trajectories: Sequence[Trajectory | None]) -> dict[str, float]:
    """Return the metrics of a batch of matches: turns per match, the share of replies that were no legal move, and the
    share of matches that are left out of learning."""
    learned = [trajectory for trajectory in trajectories if trajectory is not None]
    metrics = {"match/left_out": 1.0 - len(learned) / len(trajectories)}
    if learned:
        turns = [*chain.from_iterable(trajectory.turns for trajectory in learned)]
        metrics["match/turns"] = len(turns) / len(learned)
        metrics["match/failed_replies"] = sum(turn.reading != "move" for turn in turns) / len(turns)
    return metrics
