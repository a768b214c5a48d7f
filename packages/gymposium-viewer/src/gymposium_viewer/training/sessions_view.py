"""The data of the page with a run's sessions: the queue, the clients, and the list of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args
from urllib.parse import urlencode

from gymposium.errors import BadOption
from gymposium.runs.sessions import GroupState, JobRow, JobState, SessionState
from gymposium.runs.sessions_reader import BeginningCounts, GroupSummary, SessionsReader, SessionSummary
from gymposium_viewer.training.session_view import format_time

MAX_SESSIONS = 200
"""Maximum number of sessions on the page."""
MAX_GROUPS = 30
"""Maximum number of queued groups on the page."""
MAX_JOBS = 12
"""Maximum number of jobs on the page."""
MAX_CLIENTS = 20
"""Maximum number of clients on the page."""

BEGINNINGS = {
    "grown": "The prompt begins with the tokens of an earlier reply, exactly as sampled, and only the new part "
    "was tokenized. Both turns share a row.",
    "fresh": "The prompt begins anew, because the request contains no reply from this session, as in first requests, "
    "sub-agents and summarized histories.",
    "rewritten": "The request continues an earlier reply, but the model’s chat template renders past messages "
    "differently (many leave out past thoughts), so the prompt begins anew.",
    "diverged": "The client changed a reply of the model before sending it back, so the prompt begins anew. The turn "
    "shows which field differs.",
}
"""Kinds of prompt beginnings, with explanations."""
STATES: dict[str, tuple[str, ...]] = {
    "sessions": get_args(SessionState),
    "groups": get_args(GroupState),
    "jobs": get_args(JobState),
}
"""The states of sessions, groups and jobs, in order."""


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """A filter for the list of sessions, as written in the page's address. Empty texts match anything."""

    state: str = ""
    group: str = ""
    client: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> SessionFilter:
        """Return the filter that a query string describes. Raises `BadOption` for an unknown state."""
        found = cls(**{name: query[name] for name in cls.__dataclass_fields__ if query.get(name)})
        if found.state and found.state not in STATES["sessions"]:
            raise BadOption(f"Unknown state {found.state}. Use one of {', '.join(STATES['sessions'])}.")
        return found

    def query(self) -> str:
        """Return this filter's query string, with `?`; empty for the default filter."""
        fields = {name: value for name, value in asdict(self).items() if value}
        return f"?{urlencode(fields)}" if fields else ""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session in the list."""

    id: str
    group: str
    query: str
    """The query string of the filter that selects the session's group."""
    member: int
    state: str
    why: str
    policy: str
    version: int
    turns: int
    reward: float | None
    client: str
    began: str
    seen: str


@dataclass(frozen=True, slots=True)
class ClientLine:
    """A client name with its sessions."""

    name: str
    query: str
    sessions: int
    open: int
    seen: str


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    """A group waiting for training."""

    key: str
    query: str
    size: int
    ended: int
    rewards: str


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job, with its step's metrics."""

    id: int
    state: str
    step: int | None
    groups: int
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SessionsView:
    """The data of the page with a run's sessions."""

    counts: Mapping[str, Mapping[str, int]]
    """The number of sessions, groups and jobs in each state, in state order."""
    ways: Mapping[str, int]
    """How often prompts began in each of the ways in `BEGINNINGS`."""
    clients: Sequence[ClientLine]
    queue: Sequence[WaitingGroup]
    jobs: Sequence[JobLine]
    sessions: Sequence[SessionLine]
    found: int
    """Number of sessions that pass the filter."""

    def total(self, kind: str) -> int:
        """Return the total number of sessions, groups or jobs, over all states."""
        return sum(self.counts[kind].values())


def view_sessions(file: SessionsReader, beginnings: BeginningCounts, wanted: SessionFilter) -> SessionsView:
    """Return the data of the page with a run's sessions."""
    counts, ways, groups = file.counts(), beginnings.refresh(file), file.count_groups_per_job()
    listed, found = file.list_newest(state=wanted.state, group=wanted.group, client=wanted.client, most=MAX_SESSIONS)
    return SessionsView(
        counts={kind: {state: counts[kind].get(state, 0) for state in states} for kind, states in STATES.items()},
        ways={way: ways.get(way, 0) for way in BEGINNINGS},
        clients=[
            ClientLine(
                str(one.name),
                SessionFilter(client=str(one.name)).query(),
                one.sessions,
                one.open,
                format_time(one.seen),
            )
            for one in file.clients(MAX_CLIENTS)
        ],
        queue=[_make_waiting_group(one) for one in file.queue(MAX_GROUPS)],
        jobs=[_make_job_line(job, groups.get(job.id, 0)) for job in file.newest_jobs(MAX_JOBS)],
        sessions=[_make_session_line(one) for one in listed],
        found=found,
    )


def _make_session_line(one: SessionSummary) -> SessionLine:
    row = one.row
    return SessionLine(
        id=str(row.id),
        group=str(row.group),
        query=SessionFilter(group=str(row.group)).query(),
        member=int(row.member),
        state=str(row.state),
        why=str(row.why),
        policy=str(row.policy),
        version=int(row.version),
        turns=one.turns,
        reward=None if row.ending is None else float(row.ending["reward"]),
        client=str(row.client),
        began=format_time(row.began),
        seen=format_time(row.seen),
    )


def _make_waiting_group(one: GroupSummary) -> WaitingGroup:
    key = str(one.row.key)
    rewards = ", ".join(f"{reward:+.3g}" for reward in one.rewards[:12]) + (" …" if len(one.rewards) > 12 else "")
    return WaitingGroup(key, SessionFilter(group=key).query(), int(one.row.size), one.ended, rewards)


def _make_job_line(job: JobRow, groups: int) -> JobLine:
    metrics: dict[str, Any] = dict(job.metrics)
    numbers = {str(name): float(value) for name, value in metrics.items()}
    return JobLine(int(job.id), str(job.state), None if job.step is None else int(job.step), groups, numbers)
