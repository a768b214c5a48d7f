"""Loops at the end of a text."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gymposium.replies.repetition import ends_in_loop


@given(st.text(max_size=50), st.text(min_size=1, max_size=100).filter(str.strip), st.data())
def test_repeated_ending_is_a_loop(before: str, loop: str, data: st.DataObject) -> None:
    times = data.draw(st.integers(60 // len(loop) + 5, 60 // len(loop) + 8))
    assert ends_in_loop(before + loop * times + loop[: len(loop) // 2])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a" * 59,
        " " * 500,
        "x o x\n. o .\nx . o\nThe centre is taken, so I look for a fork. If I play a1, the opponent must answer c3.",
        "".join(f"{number}: maybe a{number % 3}? " for number in range(200)),
        "a3 loses. " * 3 + "b2 wins, and so I play it now, since nothing else does. Therefore",
    ],
)
def test_other_texts_are_not_loops(text: str) -> None:
    assert not ends_in_loop(text)
