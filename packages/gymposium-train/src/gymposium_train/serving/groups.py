"""Groups and jobs on disk: when a group is complete, and which groups a training step learns from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from gymposium.runs.sessions import GroupRow, JobRow, SessionsFile
from gymposium.util.visible import plural, quantity
from gymposium_train.serving.bodies import TRAIN
from gymposium_train.serving.errors import Conflict

TOO_OLD = "its policy is too old"
"""Reason for dropping sessions and groups whose policy lags by more than `engine.staleness` steps."""


def make_unused_key(file: SessionsFile) -> str:
    """Return a key for a group without one. The key depends on the number of groups, and the task's seed on the key. A
    client that repeats its requests therefore gets the same tasks."""
    first = sum(file.counts()["groups"].values()) + 1
    return next(key for n in count(first) if file.group(key := f"group-{n:06d}") is None)


def settle_group(file: SessionsFile, key: str) -> None:
    """Update the state of an open group whose members have all begun and ended. In a group of two or more, a single
    ended session teaches nothing."""
    group = file.group(key)
    assert group is not None, "each session has a group"
    rows = file.sessions(key)
    begun = {row.member for row in rows if row.state != "open"}
    if group.state != "open" or len(begun) < group.size or any(row.state == "open" for row in rows):
        return
    ended = sum(row.state == "ended" for row in rows)
    if group.split != TRAIN:
        file.set_group(key, "learned", why="it is not of the split that is learned from")
    elif ended >= min(2, group.size):
        file.set_group(key, "complete")
    else:
        file.set_group(key, "dropped", why=f"{ended} of its {group.size} sessions ended, and the others failed")


def check_learnable(file: SessionsFile, group: GroupRow) -> None:
    """Raise `Conflict` if a job cannot take a group without waiting for more members."""
    if group.state not in ("open", "complete") or group.split != TRAIN:
        raise Conflict(
            f"The group {group.key!r} is {group.state}, so it cannot be learned from. Name an open or complete group.",
            "groups",
        )
    ended = len(file.sessions(group.key, state="ended"))
    if ended < min(2, group.size):
        raise Conflict(
            f"Only {quantity(ended, 'session')} of the group {group.key!r} {plural(ended, 'has', 'have')} ended, but 2 "
            "are needed. End more of them.",
            "groups",
        )


def add_job(file: SessionsFile, groups: Sequence[GroupRow]) -> int:
    """Add a job for these groups, and return its number."""
    with file.change():
        number = file.add_job()
        for group in groups:
            file.set_group(group.key, "taken", job=number)
    return number


def find_next_job(file: SessionsFile, step: int, enough: int | None, staleness: int) -> JobRow | None:
    """Return the oldest waiting job, with its groups that are at most `staleness` steps behind `step`. If none waits,
    adds a job as soon as `enough` groups are complete. Without `enough`, only clients request jobs. Returns None
    without a job."""
    if not (waiting := file.jobs("waiting")):
        complete = file.groups(state="complete")
        if enough is None or len(complete) < enough:
            return None
        added = file.job(add_job(file, complete))
        assert added is not None, "it was just added"
        waiting = [added]
    job = waiting[0]
    with file.change():
        for group in file.groups(job=job.id):
            ended = file.sessions(group.key, state="ended")
            if min(row.step for row in ended) < step - staleness:
                file.set_group(group.key, "dropped", why=TOO_OLD, job=job.id)
        if not any(group.state == "taken" for group in file.groups(job=job.id)):
            file.set_job(job.id, "done", step=None, metrics={"rollout/groups": 0})
            return None
    return job


def finish_job(file: SessionsFile, job: JobRow, metrics: Mapping[str, Any]) -> None:
    """Mark a job's groups as used for learning."""
    with file.change():
        file.set_job(job.id, "done", step=job.step, metrics=metrics)
        for group in file.groups(job=job.id):
            if group.state == "taken":
                file.set_group(group.key, "learned", job=job.id)
