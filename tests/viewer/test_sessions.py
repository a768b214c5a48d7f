"""Session pages on the server: content, filters, events, and unreadable files."""

from __future__ import annotations

import http.client
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from gymposium.runs.sessions import FORMAT
from gymposium.runs.sessions_reader import BeginningCounts, open_sessions
from gymposium_viewer.app import export_pages

from .served import ServedRun, mail

LIST = "runs/training/first/sessions.html"


def ask(address: str, path: str) -> tuple[int, str]:
    parts = urlsplit(address)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)) as connection:
        connection.request("GET", f"/{path}")
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def page(address: str, path: str) -> str:
    status, text = ask(address, path)
    assert status == 200, text
    return text


@pytest.fixture
def served(training_run: Any) -> Iterator[ServedRun]:
    """The sessions of the run `first`, of which none has begun."""
    made = ServedRun(training_run().path)
    yield made
    made.file.close()


def test_run_without_a_server_has_no_sessions(serve: Any, training_run: Any, tmp_path: Path) -> None:
    training_run()
    address = serve(tmp_path)
    assert "sessions.html" not in page(address, "runs/training/first/index.html")
    for path in (LIST, "runs/training/first/sessions.events", "runs/training/first/sessions/s-1.html"):
        assert ask(address, path)[0] == 404


def test_list_counts_and_names_the_sessions(serve: Any, served: ServedRun, tmp_path: Path) -> None:
    address = serve(tmp_path)
    assert f'href="../../../{LIST}"' in page(address, "runs/training/first/index.html")
    assert "No sessions yet" in page(address, LIST)
    mail(served)
    for member in range(2):
        served.end(served.begin(f"s-{member}", "second", member, client="other/2"), float(member))
    served.file.set_group("second", "complete")
    served.learn("task-1", 0.25)
    served.file.set_session(served.begin("s-late", "third"), "expired", why="there was no request")
    found = page(address, LIST)
    for part in (
        "Sessions <b>4</b>",
        '<span class="tag ended"><b>3</b> ended</span>',
        '<span class="tag complete"><b>1</b> complete</span>',
        "1 group is complete and waiting for training",
        "+0, +1",
        '<span class="tag done">done</span>',
        "+0.250",
        '<b>2</b> <span class="tag grown">grown</span>',
        '<b>1</b> <span class="tag diverged">diverged</span>',
        "there was no request",
        "other/2",
        "2026-11-26 13:33:20",
    ):
        assert part in found, part
    assert found.index("row-s-late") < found.index("row-s-1") < found.index("row-s-mail"), "the newest is first"
    assert "secret-" not in found


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("state=open", ["s-b"]),
        ("group=one%20%26%20%3C1%3E", ["s-b", "s-a"]),
        ("client=%E2%9F%A8U%2B202E%E2%9F%A9", ["s-c"]),  # as the page shows it
        ("group=none", []),
        ("state=&group=&client=", ["s-c", "s-b", "s-a"]),
    ],
)
def test_list_is_filtered_by_the_query(
    serve: Any, served: ServedRun, tmp_path: Path, query: str, rows: list[str]
) -> None:
    served.end(served.begin("s-a", "one & <1>"), 1.0)
    served.begin("s-b", "one & <1>", 1)
    served.end(served.begin("s-c", "two", client="\u202e"), 1.0)
    found = page(serve(tmp_path), f"{LIST}?{query}")
    assert [part.partition('"')[0] for part in found.split('id="row-')[1:]] == rows
    assert f"</b> of {len(rows)} session" in found


def test_unknown_state_is_refused(serve: Any, served: ServedRun, tmp_path: Path) -> None:
    assert ask(serve(tmp_path), f"{LIST}?state=lost")[0] == 400


def test_list_is_bounded(serve: Any, served: ServedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium_viewer.training.sessions_view.MAX_SESSIONS", 3)
    for number in range(5):
        served.begin(f"s-{number}", "task", number, size=5)
    found = page(serve(tmp_path), LIST)
    assert found.count('id="row-') == 3
    assert "<b>3</b> of 5 sessions, the newest" in found


def test_session_is_shown_turn_by_turn(serve: Any, served: ServedRun, tmp_path: Path) -> None:
    found = page(serve(tmp_path), f"runs/training/first/sessions/{mail(served)}.html")
    for part in (
        "You answer questions about the mail.",
        "&lt;think&gt;I search first.&lt;/think&gt;",
        "&#34;query&#34;: &#34;train&#34;",
        "1 tool offered: ",
        "1 tool offered, as in the turn before.",
        "3 messages found:",
        'after <a href="#turn-0">turn 0</a>',
        '<span class="tag branch">branches off</span> after turn 0',
        'before sending it back: <span class="theirs">messages[4].content</span>',
        'The run overrode fields of the request: <span class="theirs">messages[4].content</span>',
        "2 earlier messages",
        '<span class="tag cut-off">length</span>',
        "reward <b>+0.75</b>",
        "&#34;name&#34;: &#34;Ada&#34;",
        "probability 0.0821, log-probability -2.5",
    ):
        assert part in found, part
    rows = [part.partition("<")[0] for part in found.split('<span class="who">row ')[1:]]
    assert rows[:5] == ["1", "2", "3", "4", "5"], "the rows"
    assert rows[5:] == ["1", "1", "2", "3", "4", "5"], "the row of each turn"


def test_long_session_is_shown_from_its_end(
    serve: Any, served: ServedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gymposium_viewer.training.session_view.MAX_TURNS", 2)
    monkeypatch.setattr("gymposium_viewer.training.session_view.MAX_TOKENS", 4)
    name = served.begin("s-long")
    for number in range(4):
        served.turn(name, f"move-{number}")
    found = page(serve(tmp_path), f"runs/training/first/sessions/{name}.html")
    assert "The first 2 turns are omitted here." in found
    assert "move-1" not in found
    assert "move-2" in found
    assert found.count("Its tokens are omitted") == 1


@pytest.mark.parametrize("name", ["s-2", "..", "%2e%2e%2fconfig", "s-1%00", "S-1", "index", "a" * 200, "é"])
def test_no_other_session_is_opened(serve: Any, served: ServedRun, tmp_path: Path, name: str) -> None:
    served.begin("s-1")
    address = serve(tmp_path)
    assert ask(address, "runs/training/first/sessions/s-1.html")[0] == 200
    assert ask(address, f"runs/training/first/sessions/{quote(name, safe='%')}.html")[0] == 404


def test_session_with_an_unsafe_id_has_no_page(served: ServedRun, serve: Any, tmp_path: Path) -> None:
    for name in ("../../../up", "a b", ""):
        served.begin(name)
    assert "../../../up" in page(serve(tmp_path), LIST)
    export_pages(tmp_path / "training", tmp_path / "site")
    assert not list((tmp_path / "site").rglob("up.html"))
    assert not (tmp_path / "up.html").exists()


def events(address: str, path: str) -> Iterator[str]:
    """The kinds of a stream's events as they arrive."""
    parts = urlsplit(address)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)) as connection:
        connection.request("GET", f"/{path}")
        answer = connection.getresponse()
        while line := answer.readline().decode():
            if line.startswith("event: "):
                yield line.removeprefix("event: ").rstrip()


def test_events_report_each_change_and_the_end(
    serve: Any, served: ServedRun, training_run: Any, tmp_path: Path
) -> None:
    name, other = served.begin("s-1"), served.begin("s-2", "other")
    address = serve(tmp_path)
    everything = events(address, "runs/training/first/sessions.events")
    one = events(address, f"runs/training/first/sessions.events?id={name}")
    assert [next(everything), next(one)] == ["changed", "changed"], "a page may be older than its stream"
    served.turn(other, "b2")
    assert next(everything) == "changed"
    served.turn(name, "b2")
    assert next(everything) == "changed"
    assert next(one) == "changed"
    served.turn(other, "c3")  # nothing of the other session
    (tmp_path / "training" / "first" / "report.html").write_text("<!doctype html>")
    assert list(one) == ["finished"]
    assert list(everything)[-1] == "finished"
    assert "data-events" not in page(address, LIST)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("text", "cannot be read as a sessions file"),
        ("folder", "is not a file"),
        ("version", "has sessions in version 7"),
        ("tables", "has tables that gymposium did not create"),
        ("json", "malformed JSON"),
        ("number", "TypeError"),
        ("ending", "KeyError"),
    ],
)
def test_unreadable_file_is_reported_on_the_page(
    serve: Any, training_run: Any, tmp_path: Path, damage: str, told: str
) -> None:
    path = training_run().path / "sessions.sqlite"
    if damage == "text":
        path.write_text("these are no sessions")
    elif damage == "folder":
        path.mkdir()
    elif damage in ("version", "tables"):
        with closing(sqlite3.connect(path)) as file:
            file.execute(f"PRAGMA user_version = {7 if damage == 'version' else FORMAT}")
    else:
        served = ServedRun(path.parent)
        served.turn(served.begin("s-1"), "b2")
        served.file.close()
        change = {
            "json": "UPDATE turns SET data = '{'",
            "number": "UPDATE sessions SET began = 'today'",
            "ending": "UPDATE sessions SET ending = '{}'",
        }
        with closing(sqlite3.connect(path)) as file, file:
            file.execute(change[damage])
    address = serve(tmp_path)
    page(address, "runs/training/first/index.html")
    assert told in page(address, LIST)
    assert "This session cannot be shown" in page(address, "runs/training/first/sessions/s-1.html")
    assert next(events(address, "runs/training/first/sessions.events?id=s-1")) == "changed"
    export_pages(tmp_path / "training", tmp_path / "site")
    assert told in (tmp_path / "site" / "runs" / "first" / "sessions.html").read_text()


def test_viewing_leaves_no_files_beside_it(serve: Any, training_run: Any, tmp_path: Path) -> None:
    directory = training_run().path
    served = ServedRun(directory)
    mail(served)
    served.file.close()
    before = sorted(directory.iterdir())
    page(serve(tmp_path), LIST)
    assert sorted(directory.iterdir()) == before


def test_session_starts_are_counted_incrementally(served: ServedRun) -> None:
    counts = BeginningCounts()

    def refreshed() -> dict[str, int]:
        with open_sessions(served.file.path) as file:
            return {way: number for way, number in counts.refresh(file).items() if number}

    assert refreshed() == {}
    mail(served)
    assert refreshed() == {"fresh": 2, "grown": 2, "rewritten": 1, "diverged": 1}
    served.turn(served.begin("s-2"), "b2")
    assert refreshed() == refreshed() == {"fresh": 3, "grown": 2, "rewritten": 1, "diverged": 1}
    served.file.close()
    served.file.path.unlink()
    again = ServedRun(served.file.path.parent)
    again.turn(again.begin("s-1"), "b2")
    assert refreshed() == {"fresh": 1}
    again.file.close()
