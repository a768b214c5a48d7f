"""The last lines of a server's stderr, with secrets removed before lines are shortened."""

from __future__ import annotations

import asyncio

import pytest

from gymposium_mcp.stderr import OutputTail

SECRET = "ABCDEFGHIJKLMNOP"


def last(written: str, **secrets: str) -> str:
    lines = OutputTail()
    with lines.file as file:
        file.write(written)
    return asyncio.run(lines.text(secrets))


@pytest.mark.parametrize("before", [0, 290, 299, 310, 99_990, 100_000, 200_000])
@pytest.mark.parametrize("after", ["", "\n", "x" * 99_990])
def test_secrets_are_hidden_completely(before: int, after: str) -> None:
    shown = last("." * before + SECRET + after, KEY=SECRET)
    assert not any(part in shown for part in ("ABC", "GHI", "NOP"))


def test_nested_secrets_are_hidden() -> None:
    assert last(f"{SECRET}!\n\nABCD\n", A="ABCD", B=SECRET, C="") == "$B! / $A"


def test_last_five_lines_are_shown_shortened() -> None:
    assert last("".join(f"{n}{'x' * 400}\n" for n in range(9))) == " / ".join(f"{n}{'x' * 299}" for n in range(4, 9))
