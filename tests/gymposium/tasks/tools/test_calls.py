"""Tool calls as moves: one canonical text each, and no other text is accepted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from gymposium.tasks.tools import Call, format_calls, parse_calls

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
CALLS = st.builds(Call, st.text(), st.dictionaries(st.text(), VALUES, max_size=3))


@given(st.lists(CALLS, min_size=1, max_size=3))
def test_calls_round_trip_through_a_move(calls: list[Call]) -> None:
    move = format_calls(calls)
    assert list(parse_calls(move)) == calls
    assert move.count("\n") == len(calls) - 1, "a line for each"
    assert format_calls(parse_calls(move)) == move


def test_argument_order_does_not_matter() -> None:
    assert format_calls([Call("f", {"b": 1, "a": 2})]) == format_calls([Call("f", {"a": 2, "b": 1})])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "read_email",
        "[]",
        '{"name": "f"}',
        '{"name": "f", "arguments": []}',
        '{"name": 1, "arguments": {}}',
        '{"name": "f", "arguments": {}, "id": 1}',
        '{"name": "f", "arguments": {"a": 1, "a": 2}}',
        '{"name": "f", "arguments": {"a": NaN}}',
        '{"name": "f", "arguments": {}} and so on',
        '{"name": "f", "arguments": {}}\n\n{"name": "f", "arguments": {}}',
        '{"name": "f", "arguments": ' + "[" * 100_000,
    ],
)
def test_other_text_is_not_a_move(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - readers turn any of them into "unparsable"
        parse_calls(text)


@given(value=VALUES)
def test_arguments_may_be_any_json(value: Any) -> None:
    assert parse_calls(Call("f", {"x": value}).json) == (Call("f", {"x": value}),)
