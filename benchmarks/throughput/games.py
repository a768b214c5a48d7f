"""The games that are measured."""

from __future__ import annotations

GAMES = (
    *("tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "liars_dice", "othello", "hex"),
    *("goofspiel", "2048", "backgammon", "gin_rummy", "breakthrough", "clobber", "blackjack"),
)
"""With their default parameters."""
