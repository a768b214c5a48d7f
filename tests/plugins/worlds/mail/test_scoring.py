"""Answers compared by type, and citations."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gymposium_worlds.mail.scoring import compute_f1, is_right, says_unknown

AMOUNT = {"type": "amount", "accepted": ["1310"]}
NUMBER = {"type": "number", "accepted": ["7"]}
DATE = {"type": "date", "accepted": ["2024-06-02"]}
NAME = {"type": "name", "accepted": ["Robert Miller", "Bob Miller"]}
ROOM = {"type": "text", "accepted": ["Cedar", "room Cedar"]}
NOTHING: dict[str, object] = {"type": "unknown", "accepted": []}


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("1310", AMOUNT), ("1,310 euros", AMOUNT), ("€1310.00", AMOUNT), ("EUR 1,310", AMOUNT),
        (" 1,310  euros. ", AMOUNT),
        ("7", NUMBER), ("2024-06-02", DATE), ("2 June 2024", DATE), ("June 2, 2024", DATE), ("02 june 2024", DATE),
        ("Bob Miller", NAME), ("robert  miller", NAME), ("Cedar", ROOM), ("Room Cedar.", ROOM),
        ("I don't know", NOTHING), ("i do not know.", NOTHING), ("I don’t know", NOTHING),
    ],
)  # fmt: skip
def test_accepts_right_answers(answer: str, right: dict[str, object]) -> None:
    assert is_right(answer, right)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("13,10", AMOUNT), ("1310 dollars", AMOUNT), ("1311", AMOUNT), ("1310 or 1311", AMOUNT), ("about 1310", AMOUNT),
        ("", AMOUNT), ("seven", NUMBER), ("7 people", NUMBER), ("7.0", NUMBER), ("77", NUMBER), ("2024-06-2", DATE),
        ("2024-02-06", DATE), ("June 2024", DATE), ("2 June", DATE), ("31 June 2024", DATE),
        ("2024-06-02 or later", DATE),
        ("Bob", NAME), ("Miller", NAME), ("Bill Miller", NAME), ("Bob Miller and Ada Berg", NAME), ("", NAME),
        ("room", ROOM), ("Cedar or Oak", ROOM), ("I don't know", ROOM), ("unknown", NOTHING), ("", NOTHING),
        ("I don't know, perhaps Cedar", NOTHING),
    ],
)  # fmt: skip
def test_refuses_wrong_answers(answer: str, right: dict[str, object]) -> None:
    assert not is_right(answer, right)


@given(st.text(max_size=40))
def test_comparison_accepts_any_text(answer: str) -> None:
    for right in (AMOUNT, NUMBER, DATE, NAME, ROOM, NOTHING):
        is_right(answer, right)
    assert not (says_unknown(answer) and is_right(answer, ROOM))


def test_citations_are_scored_by_f1() -> None:
    assert compute_f1(["m1"], ["m1", "m2"], all_needed=False) == 1.0
    assert compute_f1(["m1"], ["m1", "m2"], all_needed=True) == pytest.approx(2 / 3)
    assert compute_f1(["m1", "m9"], ["m1"], all_needed=True) == pytest.approx(2 / 3)
    assert compute_f1(["m1", "m1"], ["m1"], all_needed=True) == 1.0
    assert compute_f1(["m9"], ["m1"], all_needed=False) == compute_f1([], ["m1"], all_needed=False) == 0.0
    assert compute_f1([], [], all_needed=False) == 1.0
    assert compute_f1(["m1"], [], all_needed=False) == 0.0
