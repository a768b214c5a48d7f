"""Specs refuse fields of wrong types and contradictory facts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gymposium import GameSpec, LoggerSpec, OpponentSpec, Parameter
from gymposium.errors import BadParameter


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"default": None}, "default=None must be True or False or a whole number or a number or text"),
        ({"default": [1]}, r"default=\[1\] must be"),
        ({"default": math.nan}, "default=nan must be"),
        ({"default": 2, "low": math.nan}, "low=nan must be a whole number or a number or None"),
        ({"default": 2, "low": 3, "high": 1}, "low=3 must not be greater than high=1"),
        ({"default": 9, "high": 3}, "n=9: must be 3 or less"),
        ({"default": 9, "by_players": {4: 2}, "low": 3}, "n=2: must be 3 or more"),
        ({"default": "a", "high": 3}, "low and high need a numeric default, not 'a'"),
        ({"default": 1, "choices": (1, "2")}, "'2' must be of type int, like default=1"),
        ({"default": 1, "choices": [1]}, r"choices=\[1\] must be a tuple"),
        ({"default": 1, "by_players": {3: 1.5}}, "1.5 must be of type int, like default=1"),
        ({"default": 1, "name": "the n"}, "'the n' must be an identifier"),
    ],
)
def test_parameter_with_wrong_type_or_bounds_is_refused(facts: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Parameter(**{"name": "n", "help": "H.", **facts})


def test_duplicate_parameters_are_refused() -> None:
    n = Parameter(name="n", default=1, help="H.")
    with pytest.raises(ValueError, match="game x: duplicate parameter n"):
        GameSpec(name="x", title="X", summary="X.", entry_point="x:game", parameters=(n, n))


@pytest.mark.parametrize(
    ("patterns", "complaint"),
    [
        ({"pattern": "("}, r"player x: pattern='\(' is not a regular expression \(missing \)"),
        ({"opens_where": "["}, "player x: opens_where="),
        ({"variable": "key=x"}, "variable='key=x' must have one group"),
    ],
)
def test_patterns_must_be_regular_expressions(patterns: dict[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        OpponentSpec(**{"name": "x", "summary": "X.", "entry_point": "x:y", "form": "x", "pattern": "x", **patterns})


@pytest.mark.parametrize("kind", [GameSpec, LoggerSpec, OpponentSpec])
@pytest.mark.parametrize("field", ["name", "summary", "entry_point"])
def test_all_specs_check_field_types(kind: Any, field: str) -> None:
    more = {
        GameSpec: {"title": "X"},
        LoggerSpec: {"settings": "x:S"},
        OpponentSpec: {"form": "x", "pattern": "x"},
    }[kind]
    with pytest.raises(ValueError, match=f"{field}=7 must be text"):
        kind(**{"name": "x", "summary": "X.", "entry_point": "x:y", **more, field: 7})


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", float("nan"), float("inf"), np.float64("nan")])
def test_nonfinite_numbers_are_refused(value: Any) -> None:
    for komi in (
        Parameter(name="komi", default=0.5, help="Komi."),
        Parameter(name="komi", default=0.5, help="Komi.", low=-100.0, high=100.0),
    ):
        with pytest.raises(BadParameter, match="must be a finite number"):
            komi.check(value)


def test_numpy_numbers_are_accepted() -> None:
    komi = Parameter(name="komi", default=0.5, help="Komi.").check(np.float64(6.5))
    assert (komi, type(komi)) == (6.5, float)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"low": 2, "high": 6}, "2 to 6"),
        ({"low": 2}, "2 or more"),
        ({"choices": (2, 4)}, "one of 2, 4"),
    ],
)
def test_seats_are_described_in_words(facts: dict[str, Any], words: str) -> None:
    players = Parameter(name="players", default=2, help="Seats.", **facts)
    spec = GameSpec(name="x", title="X", summary="X.", entry_point="x:game", parameters=(players,))
    assert spec.describe_seats == words
