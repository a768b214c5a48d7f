"""Ambiguous JSON and TOML are refused."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gymposium.util.strict_json import (
    DEEPEST,
    LARGEST_INTEGER,
    MOST_VALUES,
    is_amount,
    is_count,
    is_integer,
    is_number,
    parse_strict_json,
)
from gymposium.util.strict_toml import LONGEST, parse_strict_toml

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
    "millions of lists": f"[{'[],' * MOST_VALUES}0]",
    "millions of numbers": f"[{'0,' * MOST_VALUES}0]",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_ambiguous_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_strict_json(text)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES)
def test_all_other_values_round_trip(value: Any) -> None:
    assert parse_strict_json(json.dumps(value)) == value


def test_wide_integers_are_read_on_request() -> None:
    assert parse_strict_json(str(2**70), any_integer=True) == 2**70


@pytest.mark.parametrize("value", [True, None, "1", [], float("nan"), float("inf"), 1e101, 10**400])
def test_booleans_texts_and_overflows_are_not_numbers(value: Any) -> None:
    assert not any(fits(value) for fits in (is_integer, is_count, is_number, is_amount))


def test_counts_and_amounts_are_not_negative() -> None:
    assert is_integer(-1)
    assert is_number(-1.0)
    assert not is_count(-1)
    assert not is_amount(-0.5)
    assert not is_count(1.0)


MANY = 200_000
DOTS = "a." * MANY + "b"
HOSTILE_TOML = {
    "64 bits and one": f"a = {2**70}",
    "20 digits": "a = [[1, 99999999999999999999]]",
    "brackets": "a = " + "[" * 5000,
    "dots": f"{DOTS} = 1",
    "dots with spaces": "a .\t" * MANY + "b = 1",
    "dots between quoted names": "\"a.\".'b.'." * (MANY // 4) + "b = 1",
    "dots in a header": f"[[{DOTS}]]",
    "dots in an inline table": f"x = {{{DOTS} = 1}}",
    "dots in a list": f"x = [1.5, {{{DOTS} = 1}}]",
    "dots behind texts and comments": f"x = '''\"'''  # \"\"\"\ny = \"\\\"'''\"\n{DOTS} = 1",
    "texts that do not end": DOTS + '"""' + '\\"""\n' * (MANY // 2),
    "too long": "#" * (LONGEST + 1),
}


@pytest.mark.parametrize("text", HOSTILE_TOML.values(), ids=HOSTILE_TOML)
def test_toml_is_bounded_too(text: str) -> None:
    """Reading keys with so many dots before they are counted would take hours."""
    with pytest.raises(ValueError, match=r"64 bits|too deeply|1,048,576"):
        parse_strict_toml(text)


@pytest.mark.parametrize(
    "value",
    ["'{}'", '"\\"{}"', "'''\n'{}''''", '"""\\"""{}""\n{}"""""', "1 # {}", "[" + "1.5, " * 200 + "]", "1979-05-27"],
)
def test_dots_outside_keys_are_allowed(value: str) -> None:
    text = f"# {'.' * 99}\nx = " + value.replace("{}", "a." * 99)
    assert parse_strict_toml(text) == tomllib.loads(text)


def test_key_depth_is_limited_like_values() -> None:
    assert parse_strict_toml("a." * (DEEPEST - 1) + "b = 1")
    with pytest.raises(ValueError, match="too deeply"):
        parse_strict_toml("a." * DEEPEST + "b = 1")
