"""Mails and questions from files."""

from __future__ import annotations

import asyncio
import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadParameter, BadRecord
from gymposium.tasks import Result, ToolGame
from gymposium_worlds.mail.corpus import compute_digest, read_mails, read_questions
from gymposium_worlds.mail.tasks import FileTasks

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


def test_mails_and_questions_are_read_from_files(
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


def test_maildir_csv_files_are_read(tmp_path: Path) -> None:
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
        ({**MAIL, "message_id": "a b"}, "line 2: \"message_id\" is 'a b'"),
        ({**MAIL, "message_id": ""}, "line 2: \"message_id\" is ''"),
        ({**MAIL, "date": "yesterday"}, "line 2: \"date\" is 'yesterday'"),
        ({**MAIL, "to": [1]}, r'line 2: "to" is \[1\]: it must be text or a list'),
        ({"message_id": "x"}, 'line 2: it has no text called "date"'),
        ({**MAIL, "body": "\ud800"}, 'line 2: "body" has a lone surrogate'),
        ({**MAIL, "date": "0001-01-01T00:00:00+14:00"}, 'line 2: "date" is .0001-.*: in UTC it is outside'),
        ({**MAIL, "date": "9999-12-31T23:59:59-14:00"}, 'line 2: "date" is .9999-.*: in UTC it is outside'),
        ({**MAIL, "message_id": "a\0"}, 'line 2: "message_id" has a NUL'),
        ({**MAIL, "message_id": "a\x1b"}, r'line 2: "message_id" is .a\\x1b.: an id must be visible'),
        ({**MAIL, "from": " "}, 'line 2: "from" is empty'),
        ({**MAIL, "subject": 7}, 'line 2: "subject" is 7: it must be text'),
        *(
            ({**MAIL, name: wrong}, f'line 2: "{name}" is .*: it must be text or a list')
            for name in ("to", "cc", "bcc")
            for wrong in ({}, False, 0, [[]], {"x" * 3_000_000: 1})
        ),
        ({**MAIL, "body": "x" * 10_000_001}, 'line 2: "body" has 10,000,001 characters'),
        *(
            ({**MAIL, name: "x" * 3_000_000}, f'line 2: "{name}" has 3,000,000 characters')
            for name in ("message_id", "date", "from", "to", "cc", "bcc", "subject")
        ),
        (MAIL, "two mails have the id"),
    ],
)
def test_invalid_mails_are_refused(tmp_path: Path, row: Any, message: str) -> None:
    inbox = lines(tmp_path / "inbox.jsonl", MAIL, row)
    with pytest.raises(BadParameter, match=message) as refused:
        read_mails(inbox)
    assert len(str(refused.value)) < len(inbox) + 250


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": ""}, 'line 1: "question" is empty'),
        ({**QUESTION, "question": "x" * 3_000_000}, 'line 1: "question" has 3,000,000 characters'),
        ({**QUESTION, "question": "\ud800"}, 'line 1: "question" has a lone surrogate'),
        ({**QUESTION, "answer": "x" * 1_001}, 'line 1: "answer" has 1,001 characters'),
        ({**QUESTION, "message_ids": ["x" * 3_000_000]}, "line 1: the inbox has no mail 'x"),
        ({**QUESTION, "message_ids": ["<1.JavaMail@thyme>"] * 51}, 'line 1: "message_ids" has 51 ids'),
        ({**QUESTION, "answer": 42}, 'line 1: "answer" is 42: it must be text'),
        ({**QUESTION, "message_ids": []}, "line 1: .message_ids. is .*must be a list"),
        ({**QUESTION, "message_ids": ["m2"]}, "line 1: the inbox has no mail 'm2'"),
        ("", "it has no questions"),
    ],
)
def test_invalid_questions_are_refused(tmp_path: Path, row: Any, message: str) -> None:
    inbox, questions = lines(tmp_path / "inbox.jsonl", MAIL), lines(tmp_path / "questions.jsonl", row)
    with pytest.raises(BadParameter, match=message) as refused:
        FileTasks(inbox, questions).task(0)
    assert len(str(refused.value)) < len(questions) + 250


def test_invalid_csv_messages_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="line 2: the message has no readable Date header"):
        read_mails(table(tmp_path / "a.csv", "Subject: x\n\ny"))
    (tmp_path / "b.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(BadParameter, match="columns file and message"):
        read_mails(str(tmp_path / "b.csv"))
    with pytest.raises(BadParameter, match="cannot be read"):
        read_mails(str(tmp_path / "none.jsonl"))


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (RAW.replace("14 May 2001", "31 Dec 9999").replace("-0700", "-1400"), 'line 2: "date" is .9999-'),
        (RAW.replace("phillip.allen", "(" * 9_000), "line 2: the message is malformed"),
        (RAW.replace("Subject: ", f"Subject: {'x' * 3_000_000}"), "line 2: the header 'Subject' has 3,000,000"),
        (RAW.replace("From:", "X:"), 'line 2: "from" is empty'),
        (RAW.replace("Here", "\0"), 'line 2: "body" has a NUL'),
        (f"Content-Type: text/plain; charset=PunyCode\n{RAW}a-{'z9' * 500_000}", "line 2: the body is in Punycode"),
    ],
)
def test_hostile_csv_messages_are_refused(tmp_path: Path, message: str, error: str) -> None:
    with pytest.raises(BadParameter, match=error) as refused:
        read_mails(table(tmp_path / "a.csv", message))
    assert len(str(refused.value)) < len(str(tmp_path)) + 250


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
@pytest.mark.parametrize("name", ["inbox.jsonl", "inbox.csv"])
def test_pipes_are_refused(tmp_path: Path, name: str) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    plain = lines(tmp_path / "plain.jsonl", MAIL)
    for read in (
        lambda: read_mails(str(pipe)),
        lambda: read_questions(str(pipe), []),
        lambda: compute_digest(str(pipe)),
        lambda: FileTasks(plain, str(pipe)).task(0),
    ):
        with pytest.raises(BadParameter, match="it is not a regular file"):
            read()


def test_file_parameters_must_be_given_together(mail: Callable[..., ToolGame]) -> None:
    with pytest.raises(BadParameter, match="inbox needs questions"):
        mail(inbox="a.jsonl")
    with pytest.raises(BadParameter, match="mails applies only to generated mailboxes"):
        mail(inbox="a.jsonl", questions="b.jsonl", mails=20)
    with pytest.raises(BadParameter, match="cannot be part of a game's name"):
        mail(inbox="a,b.jsonl", questions="b.jsonl")


def test_refuses_records_of_other_mails(tmp_path: Path) -> None:
    questions = lines(tmp_path / "questions.jsonl", QUESTION)
    task = FileTasks(lines(tmp_path / "inbox.jsonl", MAIL), questions).task(0)
    other = FileTasks(lines(tmp_path / "inbox.jsonl", {**MAIL, "body": ""}), questions)
    with pytest.raises(BadRecord, match="differs from the one the match was recorded with"):
        asyncio.run(other.open(task))
