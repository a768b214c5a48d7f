"""Sessions, groups and jobs: what is learned, what is dropped, and how a restart resumes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest

from gymposium.errors import BadRecord
from gymposium.runs.sessions import JobRow, TurnRow
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_agents.serving.turns import list_messages
from gymposium_train.serving.app import _describe_job
from gymposium_train.serving.bodies import BeginRequest, EndRequest
from gymposium_train.serving.errors import Busy, Conflict, Gone, NotFound, NotReady, ServiceError
from gymposium_train.serving.service import Service
from gymposium_train.serving.source import SessionSource
from gymposium_train.serving.trajectories import BadGroup, list_turns, read_group

from .serving import begin, end, never, played, say

Make = Callable[..., Service]


def states(service: Service) -> dict[str, str]:
    return {group.key: group.state for group in service.file.groups()}


def test_rollout_has_complete_groups_by_key_and_member(service: Service) -> None:
    for group in ("b", "a"):
        for member in (1, 0):
            played(service, group, member, 10.0 * member)
    played(service, "c", 0, 1.0)
    assert states(service) == {"a": "complete", "b": "complete", "c": "open"}
    asked = service.jobs.train(None)
    job = service.jobs.take(0, never)
    assert (job.id, job.state, job.step) == (asked.id, "learning", 0)
    groups = [read_group(service.file, group.key) for group in service.file.groups(job=job.id)]
    assert [group.key for group in groups] == ["a", "b"]
    assert [one.reward.total for one in groups[0].trajectories] == [0.0, 10.0]
    service.jobs.learned(0, {"train/rows": 4, "text": "no number"})
    done = service.jobs.job(job.id)
    assert (done.state, dict(done.metrics)) == ("done", {"train/rows": 4})
    assert states(service) == {"a": "learned", "b": "learned", "c": "open"}


def test_steps_start_once_enough_groups_are_complete(make: Make) -> None:
    service = make(groups=2)
    for group in ("a", "b"):
        for member in range(2):
            played(service, group, member, 1.0)
    assert service.jobs.take(0, never).state == "learning"


def test_group_sessions_share_task_seed_but_not_reply_seed(service: Service) -> None:
    one = service.sessions.begin(BeginRequest.read({"group": "a"}), "")
    first, task = one.row, one.seed
    other = service.sessions.begin(BeginRequest.read({"group": "a"}), "")
    second, same = other.row, other.seed
    given = service.sessions.begin(BeginRequest.read({"group": "b", "seed": 5}), "").seed
    assert task == same
    assert given == 5
    assert first.seed != second.seed
    assert (first.member, second.member) == (0, 1)


def test_groups_without_a_key_are_numbered(service: Service) -> None:
    service.jobs.add_group("group-000002", 2)
    assert [service.jobs.add_group(None, 2).key for _ in range(2)] == ["group-000003", "group-000004"]
    row, _ = begin(service)
    assert (row.group, service.jobs.group(row.group).size) == ("group-000005", 1)
    service.sessions.needs_groups = True
    with pytest.raises(ServiceError, match="Name a group for them"):
        begin(service)
    assert begin(service, split="test")[0].group == "group-000006"


def test_ending_a_session_is_idempotent(service: Service) -> None:
    row, secret = begin(service, "a")
    say(service, secret, "hello")
    ended = end(service, row, 1.0, parts={"exact": 1.0})
    assert end(service, row, 1.0, parts={"exact": 1.0}) == ended
    with pytest.raises(Conflict, match="other values"):
        end(service, row, 0.5, parts={"exact": 1.0})
    with pytest.raises(Gone, match="This session has ended"):
        say(service, secret, "more")
    with pytest.raises(Conflict, match="cannot be dropped"):
        service.sessions.drop(row.id)


def test_invalid_session_results_are_refused(service: Service) -> None:
    played(service, "a", 0, 1.0)
    row, secret = begin(service, "a", 1)
    say(service, secret, "hello")
    with pytest.raises(Conflict, match="all sessions of a group must have the same names: none"):
        end(service, row, 1.0, parts={"exact": 1.0})
    with pytest.raises(Conflict, match="give 1 numbers, one per reply"):
        end(service, row, 1.0, turn_rewards=[0.5, 0.5])
    for wrong, said in [
        ({}, "reward"),
        ({"reward": float("nan")}, "give a number from"),
        ({"reward": "1"}, "give a number from"),
        ({"reward": 1, "turn_rewards": [0.5]}, "add up to 0.5"),
        ({"reward": 1, "rewards": 2}, "unknown field"),
        ({"reward": 1, "truncated": 1}, "true or false"),
    ]:
        with pytest.raises(ServiceError, match=said):
            EndRequest.read(wrong)
    with pytest.raises(NotFound):
        service.sessions.drop("s-none")


def test_turn_rewards_follow_turns_into_rows(service: Service) -> None:
    row, secret = begin(service, "a")
    one = say(service, secret, "agent A")
    say(service, secret, "agent B")
    text = str(one.said.message["content"])
    say(service, secret, "agent A", text, "more")
    end(service, row, 6.0, turn_rewards=[1.0, 2.0, 3.0])
    (trajectory,) = read_group(service.file, "a").trajectories
    assert trajectory.reward.turns == (1.0, 3.0, 2.0)
    assert len(trajectory.turns) == 3


@pytest.mark.parametrize("truncated", [False, True])
def test_truncated_session_bootstraps_at_its_last_prompt(service: Service, truncated: bool) -> None:
    row, secret = begin(service, "a")
    text = str(say(service, secret, "agent").said.message["content"])
    last = say(service, secret, "agent", text, "more")
    end(service, row, 1.0, truncated=truncated)
    (trajectory,) = read_group(service.file, "a").trajectories
    assert trajectory.unanswered == (last.tokens.prompt if truncated else None)


def test_dead_and_idle_clients_do_not_block_learning(make: Make) -> None:
    service = make(group_size=3, expires=1e-9)
    service.sessions.settings = service.sessions.settings.model_copy(update={"expires": 3600.0})
    for member in range(2):
        played(service, "dies", member, float(member))
    begin(service, "dies")
    for member in range(2):
        begin(service, "never", member)
    for member in range(3):
        played(service, "well", member, float(member))
    assert states(service) == {"dies": "open", "never": "open", "well": "complete"}
    service.sessions.settings = service.sessions.settings.model_copy(update={"expires": 1e-9})
    begin(service, "never", 2)  # the others expire
    assert states(service)["dies"] == "complete", "two of its sessions ended"
    row, _ = begin(service, "other")
    service.sessions.drop(row.id)
    assert states(service)["never"] == "dropped"
    assert service.file.counts()["sessions"] == {"ended": 5, "expired": 4, "dropped": 1}
    service.jobs.train(None)
    job = service.jobs.take(0, never)
    assert [group.key for group in service.file.groups(job=job.id)] == ["dies", "well"]
    assert len(read_group(service.file, "dies").trajectories) == 2


def test_dropped_sessions_can_be_restarted(service: Service) -> None:
    played(service, "a", 0, 1.0)
    row, _ = begin(service, "a", 1)
    again, _ = begin(service, "a", 1)
    assert again.id != row.id
    assert service.file.session(row.id).state == "dropped", "its client did not get the answer"  # type: ignore[union-attr]
    _, secret = again, begin(service, "b", 0)[1]
    say(service, secret, "hello")
    with pytest.raises(Conflict, match="Member 0 of the group 'b' is already session s-"):
        begin(service, "b", 0)
    with pytest.raises(Conflict, match="All 2 members of the group"):
        begin(service, "a", 2)


def test_listed_groups_are_used_without_missing_members(service: Service) -> None:
    service.jobs.add_group("a", 4)
    for member in range(2):
        played(service, "a", member, 1.0)
    _, secret = begin(service, "a")
    job = service.jobs.train(["a"])
    assert service.jobs.train(["a"]) == job, "a repeated request gets the same job"
    with pytest.raises(Gone):
        say(service, secret, "hello")
    with pytest.raises(Conflict, match="No group is complete"):
        service.jobs.train(None)
    with pytest.raises(NotFound):
        service.jobs.train(["b"])
    played(service, "c", 0, 1.0)
    with pytest.raises(Conflict, match="Only 1 session of the group"):
        service.jobs.train(["c"])


def test_stale_groups_are_dropped_and_counted(make: Make) -> None:
    service = make(staleness=1)
    for member in range(2):
        played(service, "old", member, 1.0)
    learner = service.learner
    learner._policy_steps = dict.fromkeys(learner._policy_steps, 2)  # two steps later
    for member in range(2):
        played(service, "new", member, 1.0)
    service.jobs.train(None)
    job = service.jobs.take(3, never)
    assert {group.key: group.state for group in service.file.groups(job=job.id)} == {"old": "dropped", "new": "taken"}
    assert service.file.group("old").why == "its policy is too old"  # type: ignore[union-attr]


def test_sessions_of_other_splits_are_kept_but_not_learned(service: Service) -> None:
    for member in range(2):
        row, secret = begin(service, "t", member, split="test")
        say(service, secret, "hello")
        end(service, row, 1.0)
    assert states(service) == {"t": "learned"}
    with pytest.raises(Conflict, match="No group is complete"):
        service.jobs.train(None)


def test_open_sessions_and_waiting_groups_are_limited(make: Make) -> None:
    service = make(most_sessions=1, most_groups=1)
    row, _ = begin(service, "a", 0)
    with pytest.raises(Busy, match="1 session is open"):
        begin(service, "a", 1)
    service.sessions.drop(row.id)
    for member in range(2):
        played(service, "b", member, 1.0)
    with pytest.raises(Busy, match="POST /v1/train"):
        begin(service, "c", 0)


def test_sessions_require_a_policy(make: Make) -> None:
    service = make()
    service.learner.step = None
    with pytest.raises(NotReady):
        begin(service, "a")


def test_restarted_service_gives_the_same_job_and_trajectories(make: Make) -> None:
    service = make(staleness=1)
    for member in range(2):
        played(service, "a", member, float(member))
    open_row, secret = begin(service, "b", 0)
    first = say(service, secret, "hello")
    job = service.jobs.take(0, never) if service.jobs.train(None) else None
    assert job is not None
    before = read_group(service.file, "a")
    service.close()

    service = make(staleness=1)
    assert service.jobs.take(0, never) == job
    assert read_group(service.file, "a") == before
    assert say(service, secret, "hello", again=True).answer == first.answer
    text = str(first.said.message["content"])
    second = say(service, secret, "hello", text, "more")
    assert (second.number, second.beginning, second.parent) == (1, "grown", 0)
    assert end(service, open_row, 1.0).state == "ended"
    service.jobs.learned(0, {})
    service.close()

    service = make(staleness=1)
    with pytest.raises(NotReady, match="it is at step 0 and had done step 0"):
        begin(service, "b", 1)
    service.learner.step = 1
    played(service, "b", 1, 0.0)
    service.jobs.train(None)
    assert service.jobs.take(1, never).step == 1
    assert service.jobs.job(job.id).state == "done"


@pytest.mark.parametrize(
    "change",
    [
        "data = '{'",
        "data = '[]'",
        "data = 5",
        "data = '{}'",
        "data = json_set(data, '$.parent', 0)",
        "data = json_set(data, '$.parent', 'x')",
        "data = json_set(data, '$.messages', 5)",
        "data = json_set(data, '$.messages[0].content', 5)",
        "data = json_set(data, '$.messages[0].tool_calls', json('[5]'))",
        "data = json_set(data, '$.tools', json('[{}]'))",
        "data = json_set(data, '$.said', NULL)",
        "data = json_set(data, '$.key', json('[]'))",
        "prompt = 'x'",
        "ids = x'01'",
        "logprobs = x'01'",
    ],
)
def test_restarted_service_drops_sessions_with_malformed_turns(make: Make, change: str) -> None:
    service = make()
    row, secret = begin(service, "a", 0)
    say(service, secret, "hello")
    service.close()
    with closing(sqlite3.connect(service.file.path, isolation_level=None)) as file:
        file.execute(f"UPDATE turns SET {change}")
    service = make()
    with pytest.raises(Gone, match="malformed"):
        say(service, secret, "hello")
    with pytest.raises(Gone, match="its turns are malformed"):
        say(service, secret, "hello")
    dropped = service.file.session(row.id)
    assert dropped is not None
    assert dropped.state == "dropped"


@pytest.mark.parametrize(
    "change",
    [
        "sessions SET metadata = '{'",
        "sessions SET metadata = '[]'",
        "sessions SET metadata = 5",
        "sessions SET ending = '5'",
        "sessions SET began = 'today'",
        "sessions SET member = 'x'",
        "sessions SET version = x'00'",
        "groups SET size = 'x'",
        "groups SET job = 'x'",
        "jobs SET metrics = '['",
        "jobs SET metrics = '[]'",
    ],
)
def test_refuses_to_resume_with_malformed_rows(make: Make, change: str) -> None:
    service = make()
    for member in range(2):
        played(service, "a", member, float(member))
    service.jobs.train(None)
    service.close()
    with closing(sqlite3.connect(service.file.path, isolation_level=None)) as file:
        file.execute(f"UPDATE {change}")
    with pytest.raises(BadRecord, match="a malformed row"):
        make()


def test_job_metrics_are_valid_json_numbers() -> None:
    metrics = {"loss": 1.0, "steps": 2, "odd": float("nan"), "infinite": float("inf"), "text": "x", "huge": 10**400}
    assert _describe_job(JobRow(1, "done", 0, metrics))["metrics"] == {"loss": 1.0, "steps": 2}


def test_checkpointed_steps_are_done_in_the_resumed_run(make: Make) -> None:
    service = make()
    for member in range(2):
        played(service, "a", member, float(member))
    job = service.jobs.train(None)
    service.jobs.take(0, never)
    service.close()
    service = make()
    SessionSource(service).restore({"taken": None})
    assert service.jobs.job(job.id).state == "learning", "it is learned again"
    SessionSource(service).restore({"taken": 0})
    assert service.jobs.job(job.id).state == "done"
    assert states(service) == {"a": "learned"}


def test_status_counts_events(service: Service, player: LanguageModelPlayer) -> None:
    row, secret = begin(service, "a")
    one = say(service, secret, "hello")
    say(service, secret, "hello", f"{one.said.message['content']} changed", "more")
    say(service, secret, "hello", again=True)
    end(service, row, 1.0)
    status = service.status()
    assert status["sessions"] == {"ended": 1}
    assert status["requests"] == {"fresh": 1, "diverged": 1, "answered again": 1}
    assert status["differences"] == {"messages[1].content": 1}
    assert list(status["clients"]) == ["test/1"]
    assert status["policy"]["version"] == player.engine.policy.version


def test_status_lists_the_newest_clients(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium_train.serving.sessions.MOST_CLIENTS", 3)
    begun = service.sessions.begin(BeginRequest.read({"group": "a"}), "agent/0")
    for number in (1, 2, 1, 3, 4):
        service.sessions.answering(begun.secret, f"agent/{number}")
    assert list(service.status()["clients"]) == ["agent/1", "agent/3", "agent/4"]


def test_small_compressed_turns_cannot_fill_memory(service: Service) -> None:
    played(service, "a", 0, 1.0)
    [row] = service.file.sessions("a")
    [turn] = service.file.turns(row.id)

    def chain(length: int, first: int | None = None) -> list[TurnRow]:
        parents = [first, *range(length - 1)]
        return [replace(turn, number=n, data={**turn.data, "parent": at}) for n, at in enumerate(parents)]

    turns = list_turns(row, chain(2000))
    assert len(list_messages(turns, 1999)) == 2000 * len(turns[0].messages) + 1999
    with pytest.raises(ValueError, match="tokens, more than 50,000,000"):
        list_turns(row, chain(100_000))
    for parent in (-1, 0, 5):
        with pytest.raises(ValueError, match=f"has the parent {parent}"):
            list_turns(row, chain(3, parent))
    service.file.add_turn(row.id, chain(2, 1)[1], 0.0)
    service.file.add_turn(row.id, replace(turn, number=2, data={**turn.data, "parent": 7}), 0.0)
    with pytest.raises(BadGroup, match="has the parent 7"):
        read_group(service.file, "a")
