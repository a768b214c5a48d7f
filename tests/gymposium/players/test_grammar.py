"""Errors of invalid player names say how to write the player."""

from __future__ import annotations

import pytest

from gymposium import make_player
from gymposium.errors import UnknownName


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mcts-0", "Unknown player 'mcts-0'. Write mcts-N, with N from 1 to 999999999, for instance mcts-25."),
        ("mcts", "Unknown player 'mcts'. Write mcts-N, with N from 1 to 999999999, for instance mcts-25."),
        ("mcts-1000000000", "with N from 1 to 999999999, for instance mcts-25."),
        ("mcts-many", "with N from 1 to 999999999, for instance mcts-25."),
        ("cfr-0", "Write cfr-N, with N from 1 to 999999, for instance cfr-200."),
        ("hold-0", "Write hold-N, with N from 1 to 9999, for instance hold-20."),
        ("stand-100", "Write stand-N, with N from 1 to 99, for instance stand-17."),
        ("expectimax-7", "Write expectimax-D, with D from 1 to 6, for instance expectimax-1."),
        ("mct-5", "Did you mean 'mcts-N'? If a plugin file adds it, load that file:  gymposium --plugin FILE …"),
    ],
)
def test_error_says_how_to_write_the_player(text: str, told: str) -> None:
    with pytest.raises(UnknownName) as caught:
        make_player(text)
    assert str(caught.value).endswith(told)


def test_stated_limits_are_enforced() -> None:
    for text in ("mcts-1", "mcts-999999999", "cfr-1", "cfr-999999", "hold-9999", "stand-99", "expectimax-6"):
        make_player(text)
