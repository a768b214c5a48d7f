"""Mails and questions from files that the user has, such as the public Enron corpus.

Mails are a JSONL file whose lines have `message_id`, `date` (ISO 8601), `from`, `to` (text or a list), `subject` and
`body`, and perhaps `cc` and `bcc`; or a CSV file with the columns `file` and `message`, as Enron's maildir is
published: each message is an RFC 5322 text, and its id is the header `Message-ID`. Other keys and columns are not used.

Questions are a JSONL file whose lines have `question`, `answer` and `message_ids`.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email import message_from_string, policy
from typing import Any, cast

from gymposium.errors import BadParameter, reason
from gymposium.strict_json import strict_json
from gymposium.visible import is_encodable
from gymposium_worlds.mail.message import Mail
from gymposium_worlds.mail.scoring import typed

_LONGEST_ID = 200


class _BadEntry(ValueError):
    """What is wrong with one line, as the end of a sentence."""


def read_mails(path: str) -> list[Mail]:
    """The mails of a file, in its order. Raises `BadParameter`, which names the line."""
    rows = _csv_rows(path) if path.lower().endswith(".csv") else _json_rows("inbox", path)
    mails = []
    for number, row in rows:
        try:
            mails.append(_from_text(row["message"]) if isinstance(row.get("message"), str) else _from_parts(row))
        except _BadEntry as error:
            raise BadParameter(f"inbox={path}, line {number}: {error}.") from error
    if not mails:
        raise BadParameter(f"inbox={path}: there are no mails in it.")
    _check_ids(path, mails)
    return mails


def read_questions(path: str, mails: Sequence[Mail]) -> list[Mapping[str, Any]]:
    """The questions of a file, each with `question`, `answer` (`{"type": ..., "accepted": [...]}`) and `sources`.

    An answer that is written as a number or a date is compared as such. Raises `BadParameter`, which names the line."""
    known = {mail.id for mail in mails}
    questions = []
    for number, row in _json_rows("questions", path):
        try:
            questions.append(_question(row, known))
        except _BadEntry as error:
            raise BadParameter(f"questions={path}, line {number}: {error}.") from error
    if not questions:
        raise BadParameter(f"questions={path}: there are no questions in it.")
    return questions


def digest_of(path: str) -> str:
    """`sha256:` with the digest of a file, which tells a record whether the mails are still the same."""
    with open(path, "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _question(row: Mapping[str, Any], known: set[str]) -> Mapping[str, Any]:
    question, answer, sources = row.get("question"), row.get("answer"), row.get("message_ids")
    if not isinstance(question, str) or not question.strip():
        raise _BadEntry('it has no text called "question"')
    if not isinstance(answer, str) or not answer.strip():
        raise _BadEntry('it has no text called "answer"')
    if not isinstance(sources, list) or not sources or not all(isinstance(one, str) for one in sources):
        raise _BadEntry('"message_ids" must be a list of ids, and not empty')
    if missing := [one for one in sources if one not in known]:
        raise _BadEntry(f"the inbox has no mail {missing[0]!r}")
    kind = next((kind for kind in ("number", "date", "amount") if typed(answer, kind) is not None), "text")
    return {"question": " ".join(question.split()), "answer": {"type": kind, "accepted": [answer]}, "sources": sources}


def _from_parts(row: Mapping[str, Any]) -> Mail:
    """The mail of a JSON object."""
    texts = {name: row.get(name) for name in ("message_id", "date", "from", "subject", "body")}
    if missing := [name for name, text in texts.items() if not isinstance(text, str)]:
        raise _BadEntry(f'it has no text called "{missing[0]}"')
    recipients = []
    for name in ("to", "cc", "bcc"):
        given = row.get(name) or []
        parts = [given] if isinstance(given, str) else given
        if not isinstance(parts, list) or not all(isinstance(one, str) for one in parts):
            raise _BadEntry(f'"{name}" must be text or a list of texts')
        recipients += parts
    parts = cast(Mapping[str, str], texts)
    try:
        sent = datetime.fromisoformat(parts["date"])
    except ValueError as error:
        raise _BadEntry(f"{parts['date']!r} is not a date: write it like 2001-05-14 16:39:00") from error
    return _mail(parts["message_id"], sent, parts["from"], recipients, parts["subject"], parts["body"])


def _from_text(text: str) -> Mail:
    """The mail of an RFC 5322 text."""
    message = message_from_string(text, policy=policy.default)
    message_id, sent = str(message["Message-ID"] or "").strip(), message["Date"]
    if sent is None or sent.datetime is None:
        raise _BadEntry("the message has no header Date that can be read")
    body = message.get_body(("plain", "html"))
    recipients = [str(message[name]) for name in ("To", "Cc") if message[name]]
    content = str(body.get_content()) if body else ""
    return _mail(
        message_id, sent.datetime, str(message["From"] or ""), recipients, str(message["Subject"] or ""), content
    )


def _mail(message_id: str, sent: datetime, sender: str, recipients: Sequence[str], subject: str, body: str) -> Mail:
    if len(message_id) > _LONGEST_ID or message_id.split() != [message_id]:
        raise _BadEntry(f"{message_id[:80]!r} is not an id: at most {_LONGEST_ID} characters without white space")
    if not all(map(is_encodable, (message_id, sender, subject, body, *recipients))):
        raise _BadEntry("it has a lone surrogate, which is no character")
    at = (sent if sent.tzinfo is None else sent.astimezone(UTC)).strftime("%Y-%m-%d %H:%M")
    return Mail(message_id, at, sender, ", ".join(recipients), subject, body.replace("\r\n", "\n"))


def _check_ids(path: str, mails: Sequence[Mail]) -> None:
    seen: set[str] = set()
    for mail in mails:
        if mail.id in seen:
            raise BadParameter(f"inbox={path}: two mails have the id {mail.id!r}.")
        seen.add(mail.id)


def _json_rows(parameter: str, path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a JSONL file with the numbers of their lines. Blank lines are left out."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    row = strict_json(line)
                except ValueError as error:
                    raise BadParameter(f"{parameter}={path}, line {number}: it is not JSON ({error}).") from error
                if not isinstance(row, dict):
                    raise BadParameter(f"{parameter}={path}, line {number}: it is not a JSON object.")
                yield number, row
    except (OSError, UnicodeDecodeError) as error:
        raise BadParameter(f"{parameter}={path}: cannot be read ({reason(error)}).") from error


def _csv_rows(path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file, _long_fields():
            reader = csv.DictReader(file)
            if not {"file", "message"} <= set(reader.fieldnames or ()):
                raise BadParameter(f"inbox={path}: the first line must name the columns file and message.")
            line = reader.line_num + 1
            for row in reader:
                if not isinstance(row["message"], str):
                    raise BadParameter(f"inbox={path}, line {line}: it has no message.")
                yield line, row
                line = reader.line_num + 1
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadParameter(f"inbox={path}: cannot be read ({reason(error)}).") from error


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let `csv` read fields of any length; its limit is one of the process."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)
