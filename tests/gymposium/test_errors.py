from __future__ import annotations

import pytest

from gymposium.errors import BadOption, IllegalMove, WrongSeat, describe_error, is_actionable


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (BadOption("write --seat 0"), True),
        (IllegalMove(0, "e9", ["e4"]), False),
        (WrongSeat([1], [0]), False),
        (ValueError("x"), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_only_actionable_errors_are_passed_on(error: BaseException, expected: bool) -> None:
    assert is_actionable(error) is expected


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (BadOption("write\n  --seat 0"), "write --seat 0"),
        (ValueError("two\nlines"), "ValueError: two lines"),
        (ValueError(), "ValueError"),
    ],
)
def test_error_is_described_on_one_line(error: BaseException, line: str) -> None:
    assert describe_error(error) == line
