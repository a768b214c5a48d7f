"""Specs refuse fields of wrong types and facts that contradict one another."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gymposium import GameSpec, LoggerSpec, OpponentSpec, Parameter


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
        ({"default": "a", "high": 3}, "low and high are for numbers, but default='a'"),
        ({"default": 1, "choices": (1, "2")}, "'2' must be of type int, as default=1 is"),
        ({"default": 1, "choices": [1]}, r"choices=\[1\] must be a tuple"),
        ({"default": 1, "by_players": {3: 1.5}}, "1.5 must be of type int, as default=1 is"),
        ({"default": 1, "name": "the n"}, "'the n' must be an identifier"),
    ],
)
def test_a_parameter_of_wrong_type_or_bounds_is_refused(facts: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Parameter(**{"name": "n", "help": "H.", **facts})


def test_duplicate_parameters_are_refused() -> None:
    n = Parameter(name="n", default=1, help="H.")
    with pytest.raises(ValueError, match="game x: duplicate parameter n"):
        GameSpec(name="x", title="X", summary="X.", entry_point="x:game", parameters=(n, n))


@pytest.mark.parametrize("kind", [GameSpec, LoggerSpec, OpponentSpec])
@pytest.mark.parametrize("field", ["name", "summary", "entry_point"])
def test_specs_of_every_kind_check_the_types_of_their_fields(kind: Any, field: str) -> None:
    more = {
        GameSpec: {"title": "X"},
        LoggerSpec: {"settings": "x:S"},
        OpponentSpec: {"form": "x", "pattern": "x"},
    }[kind]
    with pytest.raises(ValueError, match=f"{field}=7 must be text"):
        kind(**{"name": "x", "summary": "X.", "entry_point": "x:y", **more, field: 7})
