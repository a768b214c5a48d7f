"""Replay the steps of a kaggle-environments episode, in any environment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.match import MatchResult, PlayerFailure
from gymposium.players.protocol import Reply
from gymposium_arena.audit.episode import Episode, fail
from gymposium_arena.audit.logged_match import LoggedMatch

State = Mapping[str, Any]

FAILURE_CAUSES = {"TIMEOUT": "timed out", "ERROR": "crashed", "INVALID": "illegal"}
"""The failure cause for each status of a failed agent."""
_GAVE_UP = -2
"""The action that stands for an agent's failure in `open_spiel_*`."""


def list_statuses(step: Sequence[State]) -> list[str]:
    """Return the status of each agent in a step."""
    return [state["status"] for state in step]


class Steps(ABC):
    """The steps of an episode, reported to a `LoggedMatch`."""

    first_move_step: int
    """Number of the first step with agents' moves."""
    running_reward: float | None
    """Every agent's reward before the last step."""

    def __init__(self, data: State, steps: Sequence[Sequence[State]], episode: Episode) -> None:
        self.data, self.steps = data, steps
        self.game = self.make_game()
        seed = data["configuration"].get("seed") if isinstance(data["configuration"], dict) else None
        seed = seed if type(seed) is int else None
        self.logged = LoggedMatch(self.game, episode.id, episode.agents, seed=seed)
        self.early_failures: dict[str, str] = {}
        """Failures before an agent's first turn: each cause, by agent."""

    @abstractmethod
    def make_game(self) -> OpenSpielGame:
        """Return the episode's game. Raises `BadLog` if no game has these rules."""

    @abstractmethod
    def get_action(self, state: State) -> Any:
        """Return an agent's submission, which is an integer if valid."""

    @abstractmethod
    def check_step(self, number: int) -> None:
        """Check the logged position after a step. Raises `BadLog` on a mismatch."""

    @abstractmethod
    def check_end(self, result: MatchResult) -> None:
        """Check the final rewards and statuses. Raises `BadLog` on a mismatch."""

    def report_start(self) -> None:
        """Report events before the first move. Does nothing by default."""
        return

    def report_after(self, number: int) -> None:
        """Report events after a step's moves. Does nothing by default."""
        return

    def report(self) -> LoggedMatch:
        """Report all steps and return the match. Raises `BadLog` with the number of the first invalid step."""
        self.report_start()
        for number in range(1, len(self.steps)):
            try:
                self._report_step(number)
                self._check_running_rewards(number)
            except ValueError as error:
                fail(f"step {number}: {error}")
            if self.early_failures:
                break
        return self.logged

    def _report_step(self, number: int) -> None:
        match, step = self.logged.match, self.steps[number]
        asked = match.to_move()
        if number < self.first_move_step:
            self._find_early_failures(step)
            if not self.early_failures:
                self.check_step(number)
            return
        active = tuple(s for s, state in enumerate(self.steps[number - 1]) if state["status"] == "ACTIVE")
        if active != asked:
            to_move = self.logged.describe_to_move()
            fail(f"the statuses say that seats {list(active)} are to move, but the rules say {to_move}")
        actions = {seat: self.get_action(step[seat]) for seat in asked}
        ends = "ACTIVE" not in list_statuses(step)
        failed = self._find_failures(step, actions) if ends else {}
        for seat, answer in failed.items():
            self.logged.add_failure(seat, answer)
        if failed:
            for seat in actions.keys() - failed.keys():  # its move came too late to count
                self.logged.answers.append((seat, Reply(str(actions[seat]), action=actions[seat])))
            if number + 1 < len(self.steps):
                fail(f"seat {min(failed)} fails, but the episode continues")
            self.check_step(number)
            return
        for seat in asked:
            if type(actions[seat]) is not int:
                fail(f"seat {seat} moves {actions[seat]!r}, which is not an action, but the episode continues")
        self.logged.add_moves(actions)
        self.report_after(number)
        self.check_step(number)

    def _check_running_rewards(self, number: int) -> None:
        rewards = [state["reward"] for state in self.steps[number]]
        if self.logged.match.state.is_terminal() or number + 1 == len(self.steps):
            return
        if any(reward != self.running_reward for reward in rewards):
            fail(f"the rewards are {rewards} before the end, but should be {self.running_reward}")

    def _find_early_failures(self, step: Sequence[State]) -> None:
        if failed := {
            self.logged.agents[seat]: FAILURE_CAUSES[state["status"]]
            for seat, state in enumerate(step)
            if state["status"] in FAILURE_CAUSES and state["action"] is None
        }:
            self.early_failures = failed

    def _find_failures(
        self, step: Sequence[State], actions: Mapping[int, Any]
    ) -> dict[int, Reply | PlayerFailure | None]:
        """Return the failed answers by seat in the last step.

        An illegal move counts as a failure even if its status is `DONE`, as in some environments."""
        match = self.logged.match
        failed: dict[int, Reply | PlayerFailure | None] = {}
        for seat, action in actions.items():
            status = step[seat]["status"]
            if status == "TIMEOUT" and action is not None:
                fail(f"the status says that seat {seat} timed out, but it moves {action!r}")
            if status == "TIMEOUT":
                failed[seat] = None
            elif status == "ERROR" and action in (None, _GAVE_UP):
                failed[seat] = PlayerFailure("the log says ERROR", own=True)
            elif type(action) is not int:
                failed[seat] = self.logged.make_unparsable(repr(action))
            elif action not in match.legal_actions(seat):
                failed[seat] = Reply(str(action), action=action)
        return failed
