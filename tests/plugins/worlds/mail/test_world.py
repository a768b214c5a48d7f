"""One task: tool results, refusals, scores, and no early display of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gymposium.tasks import Result, ToolGame
from gymposium_worlds.mail.making.mailbox import make_mailbox
from gymposium_worlds.mail.message import Mail
from gymposium_worlds.mail.scoring import UNKNOWN_ANSWER, UNKNOWN_SCORE
from gymposium_worlds.mail.showing import MAX_RESULTS, format_mail, parse_ids, parse_mail
from gymposium_worlds.mail.tasks import MailTasks
from gymposium_worlds.mail.world import MailWorld, Task

TASKS = MailTasks(mails=60)
Caller = Callable[..., Result]


def open_world(seed: int, kind: str = "newest") -> tuple[MailWorld, Task]:
    task = MailTasks(mails=60, kinds=kind).task(seed)
    return asyncio.run(TASKS.open(task)), Task.load(task)


def test_task_plays_from_opening_to_answer(call: Caller) -> None:
    world, task = open_world(1)
    assert task.question in world.opening("full")
    assert task.question in world.opening("compact")
    listed = call(world, "search_inbox", keywords=["the"])
    assert len(parse_ids(listed.text)) == MAX_RESULTS
    assert listed.value == parse_ids(listed.text)
    assert "More mails fit" in listed.text
    mail = parse_mail(call(world, "read_email", message_id=task.sources[0]).text)
    assert mail in make_mailbox(int(task.mailbox), 60).mails
    assert not world.over()
    assert world.score() == 0.0
    call(world, "return_final_answer", answer=task.answer["accepted"][0], sources=[task.sources[-1]])
    assert world.over()
    assert world.score() == 1.0
    report = world.report()
    assert report["exact"] == report["sources"] == report["read"] == 1.0
    assert report["unknown"] == 0.0


@pytest.mark.parametrize(
    ("kind", "answer", "score"),
    [("newest", UNKNOWN_ANSWER, UNKNOWN_SCORE), ("newest", "nobody", 0.0), ("look_up", "", 0.0)],
)
def test_wrong_and_unknown_answers_are_scored(call: Caller, kind: str, answer: str, score: float) -> None:
    world, _ = open_world(2, kind)
    call(world, "return_final_answer", answer=answer, sources=[])
    assert world.score() == score
    expected = {"exact": 0.0, "unknown": float(score > 0), "sources": 0.0, "found": 0.0, "read": 0.0}
    assert world.report() == expected


def test_unknown_is_right_if_the_answer_is_absent(call: Caller) -> None:
    seed = next(n for n in range(99) if MailTasks(mails=60, kinds="look_up+absent").task(n)["kind"] == "absent")
    world, _ = open_world(seed, "look_up+absent")
    assert set(world.report().values()) == {0.0}
    call(world, "search_inbox", keywords=["project"])
    call(world, "return_final_answer", answer=UNKNOWN_ANSWER, sources=[])
    assert world.score() == 1.0
    assert set(world.report().values()) == {1.0}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_inbox", {}),
        ("search_inbox", {"keywords": []}),
        ("search_inbox", {"keywords": ["--"]}),
        ("search_inbox", {"sender": "?"}),
        ("search_inbox", {"sent_after": "5 March 2024"}),
        ("search_inbox", {"sent_before": "2024-02-30"}),
        ("search_inbox", {"sent_before": "20240301"}),
        ("read_email", {"message_id": "m0"}),
        ("read_email", {"message_id": ""}),
    ],
)
def test_refusals_are_short_sentences(call: Caller, name: str, arguments: dict[str, Any]) -> None:
    world, _ = open_world(3)
    before = world.report()
    result = call(world, name, **arguments)
    assert result.error
    assert result.text.endswith(".\n")
    assert len(result.text) < 120
    assert world.report() == before


def test_search_respects_date_bounds(call: Caller) -> None:
    world, task = open_world(4)
    days = [mail.sent[:10] for mail in make_mailbox(int(task.mailbox), 60).mails]
    day = days[30]
    after = parse_ids(call(world, "search_inbox", sent_after=day, keywords=["all"]).text)
    before = parse_ids(call(world, "search_inbox", sent_before=day, keywords=["all"]).text)
    assert after
    assert before
    assert all(days[int(one[1:]) - 1] >= day for one in after)
    assert all(days[int(one[1:]) - 1] < day for one in before)


@pytest.mark.parametrize("seed", range(4))
def test_search_results_reveal_no_answers(call: Caller, seed: int) -> None:
    """A player must read a mail to know what it says. Times of mails are shown, and no other date."""
    world, task = open_world(seed)
    box = make_mailbox(int(task.mailbox), 60)
    shown = world.opening("full").replace(box.owner.name, "")
    for mail in box.mails:
        shown += call(world, "search_inbox", sent_after=mail.sent[:10], keywords=[mail.subject]).text
        shown += call(world, "search_inbox", sender=mail.sender).text
    assert all(f"{mail.id} | " in shown for mail in box.mails)
    shown = shown.replace(task.question, "")
    values = [version.value for story in box.stories for fact in story.facts for version in fact.versions]
    assert not [value.text for value in values if not value.text.isdigit() and value.text in shown]
    assert not [name for person in box.people for name in person.names if name in shown]
    sentences = {line for mail in box.mails for line in mail.body.split("\n") if len(line) > 20}
    assert not [line for line in sentences if line in shown]


def test_long_mails_are_truncated_with_a_note() -> None:
    mail = Mail("m1", "2024-03-05 09:00", "a" * 300, "b@c.example, " * 900, "x\ny" * 500, "word " * 5000)
    text = format_mail(mail)
    assert 3500 < len(text) <= 4000
    assert text.endswith(" more characters are not shown]\n")
    assert text.count("\n") == 8


def test_observations_do_not_contain_the_task(mail: Callable[..., ToolGame]) -> None:
    match = mail(mails=60).new(5)
    task = Task.load(mail(mails=60).tasks.task(5))
    for style in ("full", "compact"):
        assert str(list(task.sources)) not in match.observe(0, style).text  # type: ignore[arg-type]
    assert "accepted" not in match.view(0)
