"""Text that two readers could understand differently is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gymposium.strict_json import LARGEST_INTEGER, is_amount, is_count, is_integer, is_number, strict_json
from gymposium.strict_toml import strict_toml

HOSTILE = {
    "repeated key": '{"a": 1, "a": 2}',
    "repeated key inside": '[{"b": {"a": 1, "\\u0061": 1}}]',
    "NaN": "[NaN]",
    "infinity": "[-Infinity]",
    "a float out of range": "1e400",
    "a negative float out of range": "[-1e400]",
    "64 bits and one": str(LARGEST_INTEGER + 1),
    "2**70": str(2**70),
    "400 digits": "9" * 400,
    "a million digits": "9" * 1_000_000,
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_ambiguous_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        strict_json(text)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES)
def test_all_other_values_come_back(value: Any) -> None:
    assert strict_json(json.dumps(value)) == value


def test_wide_integers_are_read_on_request() -> None:
    assert strict_json(str(2**70), any_integer=True) == 2**70


@pytest.mark.parametrize("value", [True, None, "1", [], float("nan"), float("inf"), 1e101, 10**400])
def test_no_figure_is_a_boolean_a_text_or_out_of_range(value: Any) -> None:
    assert not any(fits(value) for fits in (is_integer, is_count, is_number, is_amount))


def test_counts_and_amounts_are_not_negative() -> None:
    assert is_integer(-1)
    assert is_number(-1.0)
    assert not is_count(-1)
    assert not is_amount(-0.5)
    assert not is_count(1.0)


@pytest.mark.parametrize(
    "text", [f"a = {2**70}", "a = [[1, 99999999999999999999]]", "a = " + "[" * 5000, "a." * 5000 + "b = 1"]
)
def test_toml_is_bounded_too(text: str) -> None:
    with pytest.raises(ValueError, match=r"64 bits|too deeply"):
        strict_toml(text)
