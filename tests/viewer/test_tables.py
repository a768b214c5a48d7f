"""The store of browser matches: its limits, and which matches it drops."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS
from gymposium_viewer.playing.choice import MatchChoice
from gymposium_viewer.playing.forms import Form
from gymposium_viewer.playing.store import IDLE_SECONDS, MAX_OPEN, DroppedMatch, MatchStore
from gymposium_viewer.playing.table import BrowserTable


class Clock:
    """A clock that goes on by one second at each call."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@dataclass
class SlowPlayer:
    """A player that waits until it is released."""

    let_go: threading.Event
    name: str = "random"
    reader: Any = READERS["move"]
    style: Any = "full"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        self.let_go.wait()
        return [Reply((ask.legal_moves or [""])[0]) for ask in asks]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tables(tmp_path: Path, clock: Clock) -> MatchStore:
    return MatchStore(tmp_path, clock)


def begin(tables: MatchStore, seat: int = 0) -> BrowserTable:
    """A match of tic-tac-toe at the person's turn; with seat 1 the opponent has moved first."""
    table = tables.begin(MatchChoice.from_form(Form.from_query(f"game=tic_tac_toe&opponent=random&seat={seat}")))
    if seat == 0:
        table.wait(60)
    return table


def look(tables: MatchStore, table: BrowserTable) -> BrowserTable | DroppedMatch | None:
    with tables.hold(table.id) as found:
        return found


def test_least_recently_viewed_table_is_dropped(tables: MatchStore) -> None:
    begun = [begin(tables) for _ in range(MAX_OPEN)]
    assert look(tables, begun[0]) is begun[0]
    late = begin(tables)
    gone = look(tables, begun[1])
    assert isinstance(gone, DroppedMatch)
    assert (gone.reason, gone.choice) == ("replaced", begun[1].choice)
    assert tables.list_open() == [late, *reversed(begun[2:]), begun[0]]


def test_busy_tables_are_not_dropped(tables: MatchStore) -> None:
    let_go = threading.Event()
    tables._pool.put({"random": SlowPlayer(let_go)})
    thinking = begin(tables, seat=1)
    begun = [begin(tables) for _ in range(MAX_OPEN - 1)]
    with tables.hold(begun[0].id):
        for table in begun[1:]:
            look(tables, table)
        begin(tables)
        assert isinstance(look(tables, begun[1]), DroppedMatch)
        assert look(tables, thinking) is thinking
        assert look(tables, begun[0]) is begun[0]
    let_go.set()


def test_oldest_table_is_dropped_when_all_are_busy(tables: MatchStore) -> None:
    begun = [begin(tables) for _ in range(MAX_OPEN)]
    looking = [tables.hold(table.id) for table in begun]
    for one in looking:
        one.__enter__()
    begin(tables)
    assert isinstance(look(tables, begun[0]), DroppedMatch)
    assert begun[0].is_abandoned
    for one in looking:
        one.__exit__(None, None, None)


def test_idle_tables_end(tables: MatchStore, clock: Clock) -> None:
    one, other, answered = (begin(tables) for _ in range(3))
    with tables.hold(answered.id):
        clock.now += IDLE_SECONDS / 2
        assert look(tables, other) is other
        clock.now += IDLE_SECONDS / 2 + 1
        assert tables.list_open() == [answered, other]
        gone = look(tables, one)
        assert isinstance(gone, DroppedMatch)
        assert gone.reason == "idle"


def test_ended_tables_are_dropped_beyond_the_limit(tables: MatchStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium_viewer.playing.store.MAX_STORED", 3)
    begun = []
    for _ in range(4):
        table = tables.begin(MatchChoice.from_form(Form.from_query("game=trace")))
        table.wait(60)
        assert table.play(1, "nothing") == ""
        table.wait(60)
        begun.append(table)
    gone = look(tables, begun[0])
    assert isinstance(gone, DroppedMatch)
    assert gone.reason == "over"
    assert look(tables, begun[1]) is begun[1]
