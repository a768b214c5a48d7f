"""Mail search matches a simple implementation and another build of SQLite."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from gymposium.util.child_process import make_python_command, make_python_environment
from gymposium_worlds.mail.making.mailbox import make_mailbox
from gymposium_worlds.mail.message import Mail
from gymposium_worlds.mail.store import Query, Store, fill_database, split_words

MAILS = make_mailbox(6, 120).mails
STORE = Store(MAILS)
WORDS = sorted(
    {word for mail in MAILS for text in (mail.subject, mail.body, mail.sender) for word in split_words(text)}
)
DAYS = sorted({mail.sent[:10] for mail in MAILS})
RUNS = [
    words[start : start + 3]
    for mail in MAILS[:40]
    for words in [split_words(mail.body)]
    for start in range(0, len(words) - 3, 9)
]

phrases = st.one_of(st.sampled_from(WORDS).map(lambda word: [word]), st.sampled_from(RUNS))
queries = st.builds(
    Query,
    keywords=st.lists(phrases, max_size=3),
    sender=st.one_of(st.just(()), st.sampled_from([split_words(mail.sender)[1:] for mail in MAILS])),
    recipient=st.one_of(st.just(()), st.sampled_from([split_words(mail.recipients)[:2] for mail in MAILS])),
    sent_from=st.one_of(st.just(""), st.sampled_from(DAYS)),
    sent_before=st.one_of(st.just(""), st.sampled_from(DAYS)),
)


def holds(text: str, words: Sequence[str]) -> bool:
    return f" {' '.join(words)} " in f" {' '.join(split_words(text))} "


def fits(mail: Mail, query: Query) -> bool:
    return (
        all(holds(mail.subject, words) or holds(mail.body, words) for words in query.keywords)
        and (not query.sender or holds(mail.sender, query.sender))
        and (not query.recipient or holds(mail.recipients, query.recipient))
        and mail.sent >= query.sent_from
        and (not query.sent_before or mail.sent < query.sent_before)
    )


@settings(max_examples=120)
@given(queries, st.sampled_from([1, 5, 11, 200]))
def test_search_returns_matches_latest_first(query: Query, limit: int) -> None:
    expected = [mail.id for mail in reversed(MAILS) if fits(mail, query)][:limit]
    assert [found.id for found in STORE.search(query, limit)] == expected


@pytest.fixture(scope="module")
def other_database(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same database in a file, read by the build of SQLite that the package `apsw` brings."""
    apsw = pytest.importorskip("apsw")
    file = tmp_path_factory.mktemp("store") / "mails.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        fill_database(connection, MAILS)
    return apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)


@settings(max_examples=60)
@given(query=queries)
def test_other_sqlite_build_finds_the_same(other_database: Any, query: Query) -> None:
    statement, values = query.to_sql(11)
    assert [row[0] for row in other_database.execute(statement, values)] == [
        found.id for found in STORE.search(query, 11)
    ]


def test_mails_of_the_same_minute_are_ordered_by_id() -> None:
    twins = [Mail(name, "2024-03-05 09:00", "a@b.example", "", "same", "same") for name in ("b", "c", "a")]
    expected = ["c", "b", "a"]
    for order in (twins, twins[::-1]):
        assert [found.id for found in Store(order).search(Query([["same"]]), 9)] == expected


def test_words_are_compared_without_case_and_accents() -> None:
    store = Store([Mail("m1", "2024-03-05 09:00", "", "", "Über_Straße", "ÉTÉ 東京 O'Neil x-y")])
    for text in ("uber", "STRASSE", "été", "ete", "東京", "o neil", "O'Neil", "x y"):
        assert store.search(Query([split_words(text)]), 9), text
    assert not store.search(Query([split_words("stra")]), 9)


def test_query_words_are_never_operators() -> None:
    for text in ('" OR "', "NEAR(a b)", "a*", "subject:x", "NOT", "and"):
        assert STORE.search(Query([split_words(text)]), 9) == [] or holds_all(text)


def holds_all(text: str) -> bool:
    return any(holds(mail.body, split_words(text)) for mail in MAILS)


KILLED = """
import os, signal
from gymposium_worlds.mail.message import Mail
from gymposium_worlds.mail.store import Store
mails = [Mail(f"m{n}", "2024-03-05 09:00", "a@b.example", "", f"s{n}", f"{n} " * 40_000) for n in range(60)]
store = Store(mails)  # larger than SQLite's cache, so that a part of it is on the disk
assert store.read("m7") == mails[7]
print(store.get_span()[0], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_killed_process_leaves_no_file(tmp_path: Path) -> None:
    folders = {name: str(tmp_path) for name in ("TMPDIR", "SQLITE_TMPDIR")}
    done = subprocess.run(
        make_python_command("-c", KILLED),
        env={**make_python_environment(), **folders},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "60\n"), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_duplicate_mail_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="same id"):
        Store([MAILS[0], MAILS[0]])
