"""OpenSpiel games: one adapter, and one small hand-checked file of words per game."""
