"""Puzzles of numbers, letters and logic. `GAMES` lists their specs."""

from __future__ import annotations

from gymposium import GameSpec

GAMES: tuple[GameSpec, ...] = ()
