"""Poker: bets on hidden cards."""

from __future__ import annotations

from gymposium.plugins.specs import GameSpec

GAMES = (
    GameSpec(
        name="kuhn_poker",
        title="Kuhn poker",
        summary="Three cards, one bet: the smallest poker.",
        entry_point="gymposium.games.poker.kuhn_poker:game",
        information="imperfect",
        chance=True,
    ),
    GameSpec(
        name="leduc_poker",
        title="Leduc poker",
        summary="Six cards, two betting rounds, one public card.",
        entry_point="gymposium.games.poker.leduc_poker:game",
        information="imperfect",
        chance=True,
    ),
)
