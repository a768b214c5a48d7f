"""Tasks of generated mailboxes: parameters, seeds and records."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from gymposium.errors import BadParameter, BadRecord
from gymposium.tasks import ToolGame
from gymposium.tasks.tools import Call, format_calls
from gymposium_worlds.mail.scoring import UNKNOWN_ANSWER, UNKNOWN_SCORE
from gymposium_worlds.mail.tasks import MailTasks

Maker = Callable[..., ToolGame]


def test_tasks_are_deterministic_by_seed() -> None:
    tasks = [MailTasks(mails=60).task(seed) for seed in range(30)]
    assert tasks == [MailTasks(mails=60).task(seed) for seed in range(30)]
    assert len({str(task) for task in tasks}) == 30


def test_all_kinds_occur_and_a_fifth_is_absent() -> None:
    kinds = Counter(MailTasks(mails=20).task(seed)["kind"] for seed in range(300))
    assert 35 < kinds["absent"] < 85
    assert min(kinds[kind] for kind in ("look_up", "newest", "count", "first")) > 35


def test_only_chosen_kinds_occur() -> None:
    kinds = {MailTasks(mails=20, kinds="count+absent").task(seed)["kind"] for seed in range(40)}
    assert kinds == {"count", "absent"}


@pytest.mark.parametrize("kinds", ["", "lookup", "absent+look_up", "count,first", "count+count", "absent", "all+first"])
def test_unknown_kinds_are_refused(kinds: str, mail: Maker) -> None:
    with pytest.raises(BadParameter, match="kinds="):
        mail(kinds=kinds)


def test_tasks_compare_by_parameters() -> None:
    assert MailTasks(mails=50) == MailTasks(mails=50)
    assert hash(MailTasks(mails=50)) == hash(MailTasks(mails=50))
    assert MailTasks(mails=50) != MailTasks(mails=50, split="test")


def test_rules_state_scores_and_call_limit(mail: Maker) -> None:
    rules = mail(max_calls=7).rules(0)
    assert "7 calls" in rules
    assert f"{UNKNOWN_SCORE:g} for" in rules
    assert UNKNOWN_ANSWER in mail().rules(0, "compact")


def test_always_unknown_scores_less_than_half() -> None:
    tasks = [MailTasks(mails=20, kinds=kinds).task(seed) for kinds in ("all", "count+absent") for seed in range(100)]
    assert sum(1.0 if task["kind"] == "absent" else UNKNOWN_SCORE for task in tasks) < 0.5 * len(tasks)


def test_records_replay_and_can_be_continued(mail: Maker) -> None:
    game = mail(mails=20)
    match = game.new(3)
    match.apply({0: format_calls([Call("search_inbox", {"keywords": ["the"]})])})
    again = game.load(match.events, 3)
    assert again.view(0) == match.view(0)
    end = {0: format_calls([Call("return_final_answer", {"answer": UNKNOWN_ANSWER, "sources": []})])}
    match.apply(end)
    again.apply(end)
    assert again.events == match.events
    assert again.returns() == match.returns()
    assert again.report(0) == match.report(0)


@pytest.mark.parametrize(
    "change", [{"mailbox": None}, {"mailbox": "sha256:0"}, {"answer": {}}, {"sources": [1]}, {"question": 1}]
)
def test_malformed_recorded_tasks_are_refused(change: dict[str, Any]) -> None:
    tasks = MailTasks(mails=20)
    with pytest.raises(BadRecord):
        asyncio.run(tasks.open({**tasks.task(1), **change}))
