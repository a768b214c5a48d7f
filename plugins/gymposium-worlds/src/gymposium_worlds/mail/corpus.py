"""Mails and questions from the user's files, such as the public Enron corpus.

Mails come in one of two formats. A JSONL file has one object per line with `message_id`, `date` (ISO 8601), `from`,
`to` (text or a list), `subject` and `body`. Optional: `cc` and `bcc` (`null` counts as absent). A CSV file has the
columns `file` and `message`, like the published Enron maildir: each message is an RFC 5322 text, and its id is the
header `Message-ID`. Other keys and columns are ignored.

Questions are a JSONL file with `question`, `answer` and `message_ids` on each line.
"""

from __future__ import annotations

import csv
import hashlib
from codecs import lookup
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email import message_from_string, policy
from email.message import EmailMessage
from typing import Any

from gymposium.errors import BadParameter, describe_cause
from gymposium.util.plain_file import MOST_BYTES, open_plain, read_lines
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import is_encodable, shorten
from gymposium_worlds.mail.message import Mail
from gymposium_worlds.mail.scoring import parse_answer

_MAX_LENGTHS = {
    "message_id": 200,
    "date": 100,
    "from": 1_000,
    "to": 100_000,
    "cc": 100_000,
    "bcc": 100_000,
    "subject": 10_000,
    "body": 10_000_000,
    "question": 20_000,
    "answer": 1_000,
}
"""Maximum number of characters per field. The limits for answers and ids equal those of the tools."""
_MAX_HEADER = 20_000
"""Maximum number of characters in a header of an RFC 5322 text. The time of Python's parser grows quadratically: a
header of this length takes a second."""
_MAX_SOURCES = 50
"""Maximum number of ids per question. The answering tool has the same limit."""


class _BadEntry(ValueError):
    """An error in one line. Its message is the end of a sentence."""


def read_mails(path: str) -> list[Mail]:
    """Return the mails of a file in order. Raises `BadParameter` with the line number."""
    rows = _read_csv_rows(path) if path.lower().endswith(".csv") else _read_json_rows("inbox", path)
    mails = []
    for number, row in rows:
        try:
            mails.append(_parse_message(row["message"]) if isinstance(row.get("message"), str) else _parse_object(row))
        except _BadEntry as error:
            raise BadParameter(f"inbox={path}, line {number}: {error}.") from error
    if not mails:
        raise BadParameter(f"inbox={path}: it has no mails. Give at least one.")
    _check_ids(path, mails)
    return mails


def read_questions(path: str, mails: Sequence[Mail]) -> list[Mapping[str, Any]]:
    """Return the questions of a file, each with `question`, `answer` (`{"type": ..., "accepted": [...]}`) and
    `sources`.

    An answer written as a number or a date is compared as a number or a date. Raises `BadParameter` with the line
    number.
    """
    known = {mail.id for mail in mails}
    questions = []
    for number, row in _read_json_rows("questions", path):
        try:
            questions.append(_parse_question(row, known))
        except _BadEntry as error:
            raise BadParameter(f"questions={path}, line {number}: {error}.") from error
    if not questions:
        raise BadParameter(f"questions={path}: it has no questions. Give at least one.")
    return questions


def compute_digest(path: str) -> str:
    """Return the file's digest as `sha256:…`. Replays use it to check that the mails are unchanged."""
    try:
        with open_plain(path) as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        raise _make_read_error("inbox", path, error) from error


def _parse_question(row: Mapping[str, Any], known: set[str]) -> Mapping[str, Any]:
    question, answer = (_require_text(name, row.get(name)) for name in ("question", "answer"))
    sources = row.get("message_ids")
    if not isinstance(sources, list) or not sources or not all(isinstance(one, str) for one in sources):
        raise _BadEntry(f'"message_ids" is {shorten(sources)}: it must be a list of at least one id')
    if len(sources) > _MAX_SOURCES:
        raise _BadEntry(f'"message_ids" has {len(sources):,} ids, more than {_MAX_SOURCES}')
    if missing := [one for one in sources if one not in known]:
        raise _BadEntry(f"the inbox has no mail {shorten(missing[0])}")
    kind = next((kind for kind in ("number", "date", "amount") if parse_answer(answer, kind) is not None), "text")
    return {"question": " ".join(question.split()), "answer": {"type": kind, "accepted": [answer]}, "sources": sources}


def _parse_object(row: Mapping[str, Any]) -> Mail:
    """Return the mail in a JSON object."""
    recipients = []
    for name in ("to", "cc", "bcc"):
        given = row.get(name)
        parts = [] if given is None or given == "" else [given] if isinstance(given, str) else given
        if not isinstance(parts, list) or not all(isinstance(one, str) for one in parts):
            raise _BadEntry(f'"{name}" is {shorten(given)}: it must be text or a list of texts')
        _check_text(name, ", ".join(parts))
        recipients += parts
    message_id, date, sender, subject, body = (
        _check_text(name, row.get(name)) for name in ("message_id", "date", "from", "subject", "body")
    )
    try:
        sent = datetime.fromisoformat(date)
    except ValueError as error:
        raise _BadEntry(f'"date" is {date!r}: write it like 2001-05-14 16:39:00') from error
    return _make_mail(message_id, sent, sender, recipients, subject, body)


def _parse_message(text: str) -> Mail:
    """Return the mail in an RFC 5322 text."""
    message = message_from_string(text, policy=policy.default)
    for name, value in message.raw_items():
        if len(value) > _MAX_HEADER:
            raise _BadEntry(f"the header {shorten(name)} has {len(value):,} characters, more than {_MAX_HEADER:,}")
    try:
        return _convert_message(message)
    except _BadEntry:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # Python's mail parser raises any of these on malformed input
        raise _BadEntry(f"the message is malformed ({type(error).__name__} in a header or the body)") from error


def _convert_message(message: EmailMessage) -> Mail:
    sent = message["Date"]
    if sent is None or sent.datetime is None:
        raise _BadEntry("the message has no readable Date header")
    body = message.get_body(("plain", "html"))
    recipients = [str(message[name]) for name in ("To", "Cc") if message[name]]
    message_id, sender, subject = (str(message[name] or "") for name in ("Message-ID", "From", "Subject"))
    if body and lookup(body.get_content_charset("ascii")).name == "punycode":
        raise _BadEntry("the body is in Punycode, which takes too long to decode")
    content = str(body.get_content()) if body else ""
    return _make_mail(message_id.strip(), sent.datetime, sender, recipients, subject, content)


def _make_mail(
    message_id: str, sent: datetime, sender: str, recipients: Sequence[str], subject: str, body: str
) -> Mail:
    _check_text("message_id", message_id)
    if message_id.split() != [message_id] or not message_id.isprintable():
        raise _BadEntry(f'"message_id" is {shorten(message_id)}: an id must be visible characters without white space')
    _require_text("from", sender)
    to = _check_text("to", ", ".join(recipients))
    _check_text("subject", subject)
    _check_text("body", body)
    try:
        at = sent if sent.tzinfo is None else sent.astimezone(UTC)
    except OverflowError as error:
        raise _BadEntry(f'"date" is {sent.isoformat()!r}: in UTC it is outside the years 1 to 9999') from error
    return Mail(message_id, at.isoformat(" ", "minutes")[:16], sender, to, subject, body.replace("\r\n", "\n"))


def _require_text(name: str, value: Any) -> str:
    """Return a text field, which must not be blank."""
    text = _check_text(name, value)
    if not text.strip():
        raise _BadEntry(f'"{name}" is empty')
    return text


def _check_text(name: str, value: Any) -> str:
    """Return a text field. Raises `_BadEntry` if it is missing, too long, or has unusable characters."""
    if value is None:
        raise _BadEntry(f'it has no text called "{name}"')
    if not isinstance(value, str):
        raise _BadEntry(f'"{name}" is {shorten(value)}: it must be text')
    if len(value) > _MAX_LENGTHS[name]:
        raise _BadEntry(f'"{name}" has {len(value):,} characters, more than {_MAX_LENGTHS[name]:,}')
    if "\0" in value:
        raise _BadEntry(f'"{name}" has a NUL character')
    if not is_encodable(value):
        raise _BadEntry(f'"{name}" has a lone surrogate, which is no character')
    return value


def _check_ids(path: str, mails: Sequence[Mail]) -> None:
    seen: set[str] = set()
    for mail in mails:
        if mail.id in seen:
            raise BadParameter(f"inbox={path}: two mails have the id {mail.id!r}. Give each its own id.")
        seen.add(mail.id)


def _read_json_rows(parameter: str, path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects of a JSONL file with their line numbers. Blank lines are skipped."""
    for number, line in enumerate(_read_lines(parameter, path), start=1):
        if not line.strip():
            continue
        try:
            row = parse_strict_json(line)
        except ValueError as error:
            raise BadParameter(f"{parameter}={path}, line {number}: it is not JSON ({error}).") from error
        if not isinstance(row, dict):
            raise BadParameter(f"{parameter}={path}, line {number}: it is not a JSON object: {shorten(row)}.")
        yield number, row


def _read_csv_rows(path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        with _allow_long_fields():
            reader = csv.DictReader(_read_lines("inbox", path))
            if not {"file", "message"} <= set(reader.fieldnames or ()):
                raise BadParameter(
                    f"inbox={path}: the first line must name the columns file and message, not "
                    f"{shorten(reader.fieldnames)}."
                )
            line = reader.line_num + 1
            for row in reader:
                if not isinstance(row["message"], str):
                    raise BadParameter(f"inbox={path}, line {line}: it has no message. Add one in the column message.")
                yield line, row
                line = reader.line_num + 1
    except csv.Error as error:
        raise BadParameter(f"inbox={path}: cannot be read ({describe_cause(error)}). Name a valid CSV file.") from error


def _read_lines(parameter: str, path: str) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their line breaks. Raises `BadParameter` if it cannot be read or is not a
    regular file."""
    try:
        for number, line in enumerate(read_lines(path)):
            yield line.decode("utf-8" if number else "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _make_read_error(parameter, path, error) from error


def _make_read_error(parameter: str, path: str, error: Exception) -> BadParameter:
    return BadParameter(f"{parameter}={path}: cannot be read ({describe_cause(error)}). Name a readable file.")


@contextmanager
def _allow_long_fields() -> Iterator[None]:
    """Raise the field size limit of `csv` to the longest line allowed. The limit is global to the process."""
    before = csv.field_size_limit(MOST_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)
