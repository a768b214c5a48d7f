"""Parse kaggle-environments' `connectx` episodes: Connect Four on boards of any size."""

from __future__ import annotations

from typing import Any

from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.registry import load_game
from gymposium.match import MatchResult
from gymposium_arena.audit.episode import fail, get_entry
from gymposium_arena.audit.kaggle.steps import State, Steps, list_statuses

_STATUS = {"timed out": "TIMEOUT", "crashed": "ERROR", "no legal move": "INVALID"}


class ConnectX(Steps):
    """The steps of a `connectx` episode. Each step shows the board."""

    first_move_step = 1
    running_reward = 0

    def report_start(self) -> None:
        self.check_step(0)

    def make_game(self) -> OpenSpielGame:
        settings = get_entry(self.data, "configuration", dict)
        self.rows, self.columns, inarow = (get_entry(settings, key, int, "the configuration") for key in _SIZES)
        try:
            game = load_game("connect_four", rows=self.rows, columns=self.columns, x_in_row=inarow)
        except BadParameter as error:
            fail(f"connectx of this size is not supported: {error}")
        assert isinstance(game, OpenSpielGame), "connect_four is OpenSpiel's"
        return game

    def get_action(self, state: State) -> Any:
        return state["action"]

    def check_step(self, number: int) -> None:
        shown = self.steps[number][0]["observation"].get("board")
        board = self._render_board()
        if shown != board:
            what = (
                "has no board"
                if not isinstance(shown, list)
                else f"shows a board that the moves do not produce: {shown}"
            )
            fail(f"the observation {what}")

    def _render_board(self) -> list[int]:
        """Return the current board in connectx's encoding: rows from the top, 1 and 2 for the seats, 0 for empty."""
        board = [0] * (self.rows * self.columns)
        for number, column in enumerate(self.logged.match.state.history()):
            row = max(r for r in range(self.rows) if board[r * self.columns + column] == 0)
            board[row * self.columns + column] = number % 2 + 1
        return board

    def check_end(self, result: MatchResult) -> None:
        last = self.steps[-1]
        rewards, statuses, forfeit = [state["reward"] for state in last], list_statuses(last), result.ending.seat
        if forfeit is None:
            if rewards != list(result.utilities):
                fail(f"the rewards are {rewards}, but the match pays {list(result.utilities)}")
            if statuses != ["DONE", "DONE"]:
                fail(f"the statuses are {statuses}, but both agents played to the end")
            return
        expected: list[str] = ["DONE", "DONE"]
        expected[forfeit] = _STATUS[result.ending.kind]
        if statuses != expected:
            fail(f"the statuses are {statuses}, but should be {expected} ({result.ending.describe()})")
        if rewards[forfeit] is not None or rewards[1 - forfeit] != 0:
            fail(f"the rewards are {rewards}, but connectx gives the failing seat none and the other 0")


_SIZES = ("rows", "columns", "inarow")
