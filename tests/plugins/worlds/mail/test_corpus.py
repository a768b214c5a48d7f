"""Mails and questions from files."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadParameter, BadRecord
from gymposium.worlds import Result, ToolGame
from gymposium_worlds.mail.corpus import read_mails
from gymposium_worlds.mail.given import GivenTasks

MAIL = {
    "message_id": "<1.JavaMail@thyme>",
    "date": "2001-05-14 16:39:00",
    "from": "phillip.allen@enron.example",
    "to": ["tim.belden@enron.example"],
    "cc": "john.arnold@enron.example",
    "subject": "Forecast",
    "body": "Here is our forecast: 42.",
}
QUESTION = {
    "question": "What is the forecast?",
    "answer": "42",
    "message_ids": ["<1.JavaMail@thyme>"],
    "split": "train",
}
RAW = (
    "Message-ID: <18782981.1075855378110.JavaMail.evans@thyme>\nDate: Mon, 14 May 2001 16:39:00 -0700 (PDT)\n"
    "From: phillip.allen@enron.example\nTo: tim.belden@enron.example\nSubject: \nX-Folder: sent\n\n"
    'Here is our forecast, "42"\n'
)


def lines(path: Path, *rows: Any) -> str:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


def table(path: Path, *messages: str) -> str:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("file", "message"), *((f"allen-p/{n}.", one) for n, one in enumerate(messages))])
    return str(path)


def test_questions_about_mails_of_a_file(
    tmp_path: Path, mail: Callable[..., ToolGame], call: Callable[..., Result]
) -> None:
    inbox, questions = lines(tmp_path / "inbox.jsonl", MAIL, ""), lines(tmp_path / "questions.jsonl", QUESTION)
    game = mail(inbox=inbox, questions=questions)
    assert "What is the forecast?" in game.new(1).observe(0).text
    tasks = game.tasks
    world = asyncio.run(tasks.open(tasks.task(1)))
    found = call(world, "search_inbox", keywords=["forecast"], recipient="arnold")
    assert found.value == ["<1.JavaMail@thyme>"]
    assert "2001-05-14 16:39 | phillip.allen@enron.example | Forecast" in found.text
    assert "forecast: 42" in call(world, "read_email", message_id="<1.JavaMail@thyme>").text
    call(world, "return_final_answer", answer="42", sources=["<1.JavaMail@thyme>"])
    assert world.score() == world.report()["sources"] == 1.0


def test_the_csv_file_of_the_maildir(tmp_path: Path) -> None:
    long = RAW.replace("18782981", "2") + "word " * 40_000  # longer than the limit of `csv`
    before = csv.field_size_limit()
    first, second = read_mails(table(tmp_path / "emails.csv", RAW, long))
    assert csv.field_size_limit() == before
    assert (first.id, first.sent) == ("<18782981.1075855378110.JavaMail.evans@thyme>", "2001-05-14 23:39")
    assert (first.sender, first.recipients) == ("phillip.allen@enron.example", "tim.belden@enron.example")
    assert first.body.strip() == 'Here is our forecast, "42"'
    assert len(second.body) > 200_000


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", r"line 2: it is not JSON"),
        ("[]", r"line 2: it is not a JSON object"),
        ({**MAIL, "message_id": "a b"}, "line 2: 'a b' is not an id"),
        ({**MAIL, "message_id": ""}, "line 2: '' is not an id"),
        ({**MAIL, "date": "yesterday"}, "line 2: 'yesterday' is not a date"),
        ({**MAIL, "to": [1]}, 'line 2: "to" must be text or a list'),
        ({"message_id": "x"}, 'line 2: it has no text called "date"'),
        ({**MAIL, "body": "\ud800"}, "line 2: it has a lone surrogate"),
        (MAIL, "two mails have the id"),
    ],
)
def test_bad_mails_are_refused(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        read_mails(lines(tmp_path / "inbox.jsonl", MAIL, row))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": ""}, 'line 1: it has no text called "question"'),
        ({**QUESTION, "answer": 42}, 'line 1: it has no text called "answer"'),
        ({**QUESTION, "message_ids": []}, "line 1: .message_ids. must be a list"),
        ({**QUESTION, "message_ids": ["m2"]}, "line 1: the inbox has no mail 'm2'"),
        ("", "there are no questions"),
    ],
)
def test_bad_questions_are_refused(tmp_path: Path, row: Any, message: str) -> None:
    inbox, questions = lines(tmp_path / "inbox.jsonl", MAIL), lines(tmp_path / "questions.jsonl", row)
    with pytest.raises(BadParameter, match=message):
        GivenTasks(inbox, questions).task(0)


def test_bad_messages_of_a_csv_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="line 2: the message has no header Date"):
        read_mails(table(tmp_path / "a.csv", "Subject: x\n\ny"))
    (tmp_path / "b.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(BadParameter, match="columns file and message"):
        read_mails(str(tmp_path / "b.csv"))
    with pytest.raises(BadParameter, match="cannot be read"):
        read_mails(str(tmp_path / "none.jsonl"))


def test_files_are_named_together_and_without_other_parameters(mail: Callable[..., ToolGame]) -> None:
    with pytest.raises(BadParameter, match="inbox is given without questions"):
        mail(inbox="a.jsonl")
    with pytest.raises(BadParameter, match="mails is for generated mailboxes"):
        mail(inbox="a.jsonl", questions="b.jsonl", mails=20)
    with pytest.raises(BadParameter, match="cannot be written in the name of a game"):
        mail(inbox="a,b.jsonl", questions="b.jsonl")


def test_a_record_of_other_mails_is_refused(tmp_path: Path) -> None:
    questions = lines(tmp_path / "questions.jsonl", QUESTION)
    task = GivenTasks(lines(tmp_path / "inbox.jsonl", MAIL), questions).task(0)
    other = GivenTasks(lines(tmp_path / "inbox.jsonl", {**MAIL, "body": ""}), questions)
    with pytest.raises(BadRecord, match="not the one with which the match was recorded"):
        asyncio.run(other.open(task))
