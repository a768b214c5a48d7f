"""Groups and jobs on disk: when a group is complete, and which groups a step of training learns from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from gymposium.runs.sessions import GroupRow, JobRow, SessionsFile
from gymposium_train.serving.bodies import TRAIN
from gymposium_train.serving.errors import Conflict

TOO_OLD = "its policy is too old"
"""Why sessions and groups are dropped whose policy is more than `engine.staleness` steps behind."""


def unused_key(file: SessionsFile) -> str:
    """A key for a group that is given none. It follows from the number of groups, and the seed of the task from it, so
    that a client that does the same again gets the same tasks."""
    first = sum(file.counts()["groups"].values()) + 1
    return next(key for n in count(first) if file.group(key := f"group-{n:06d}") is None)


def settle(file: SessionsFile, key: str) -> None:
    """Change the state of an open group whose members have all begun and are over. Fewer than two sessions of a larger
    group teach nothing."""
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


def check_can_be_learned(file: SessionsFile, group: GroupRow) -> None:
    """Raise `Conflict` for a group that a job cannot take as it is, without members that are still to end."""
    if group.state not in ("open", "complete") or group.split != TRAIN:
        raise Conflict(f"The group {group.key!r} is {group.state}, so it cannot be learned from.", "groups")
    ended = len(file.sessions(group.key, state="ended"))
    if ended < min(2, group.size):
        raise Conflict(f"Of the group {group.key!r} {ended} sessions have ended: at least 2 are needed.", "groups")


def add_job(file: SessionsFile, groups: Sequence[GroupRow]) -> int:
    """Add a job that takes these groups. Returns its number."""
    with file.change():
        number = file.add_job()
        for group in groups:
            file.set_group(group.key, "taken", job=number)
    return number


def next_job(file: SessionsFile, step: int, enough: int | None, staleness: int) -> JobRow | None:
    """The oldest job that waits, with the groups that are at most `staleness` steps behind `step`; None if there is
    none. If none waits, a job is added as soon as `enough` groups are complete; None: only clients ask for jobs."""
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
    """Note that the groups of a job were learned from."""
    with file.change():
        file.set_job(job.id, "done", step=job.step, metrics=metrics)
        for group in file.groups(job=job.id):
            if group.state == "taken":
                file.set_group(group.key, "learned", job=job.id)
