"""Tournaments in worker processes."""

from __future__ import annotations

from contextlib import closing

from gymposium.runs.executors.local import LocalExecutor
from gymposium_arena.board import Board
from gymposium_arena.tournament import Tournament, run_tournament


def play_board(board: Board, workers: int = 1) -> Tournament:
    """Play the missing matches of a board."""
    with closing(LocalExecutor(workers)) as executor:
        return run_tournament(board, executor)
