"""The steps of a kaggle-environments episode, shared by all its environments."""

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

FAILED = {"TIMEOUT": "timed out", "ERROR": "crashed", "INVALID": "illegal"}
"""The cause of failure for each status of a failed agent."""
_GAVE_UP = -2
"""The action that an `open_spiel_*` agent submits to report its failure."""


def list_statuses(step: Sequence[State]) -> list[str]:
    """Return the status of each agent in a step."""
    return [state["status"] for state in step]


class Steps(ABC):
    """The steps of an episode, reported to a `LoggedMatch`."""

    first: int
    """Number of the first step with moves by agents."""
    running_reward: float | None
    """The reward of every agent in steps before the end."""

    def __init__(self, data: State, steps: Sequence[Sequence[State]], episode: Episode) -> None:
        self.data, self.steps = data, steps
        self.game = self.make_game()
        seed = data["configuration"].get("seed") if isinstance(data["configuration"], dict) else None
        seed = seed if type(seed) is int else None
        self.told = LoggedMatch(self.game, episode.id, episode.agents, seed=seed)
        self.early: dict[str, str] = {}
        """The causes of failure of agents that failed before their first turn, by name."""

    @abstractmethod
    def make_game(self) -> OpenSpielGame:
        """Return the game of the episode. Raises `BadLog` if no game has these rules."""

    @abstractmethod
    def get_action(self, state: State) -> Any:
        """Return what an agent submitted: an integer if it is an action."""

    @abstractmethod
    def check_step(self, number: int) -> None:
        """Check what the log says about the position after a step. Raises `BadLog`."""

    @abstractmethod
    def check_end(self, result: MatchResult) -> None:
        """Check the rewards and statuses at the end. Raises `BadLog`."""

    def begin(self) -> None:
        """Report what happens before the first move: nothing, by default."""
        return

    def after(self, number: int) -> None:
        """Report what happens after the moves of a step: nothing, by default."""
        return

    def tell(self) -> LoggedMatch:
        """Return the match that the steps report. Raises `BadLog` with the number of the first step that breaks the
        rules."""
        self.begin()
        for number in range(1, len(self.steps)):
            try:
                self._tell_step(number)
                self._check_running(number)
            except ValueError as error:
                fail(f"step {number}: {error}")
            if self.early:
                break
        return self.told

    def _tell_step(self, number: int) -> None:
        match, step = self.told.match, self.steps[number]
        asked = match.to_move()
        if number < self.first:
            self._note_early(step)
            if not self.early:
                self.check_step(number)
            return
        active = tuple(s for s, state in enumerate(self.steps[number - 1]) if state["status"] == "ACTIVE")
        if active != asked:
            fail(f"the statuses say that seats {list(active)} are to move, but the rules say {self.told.to_move()}")
        actions = {seat: self.get_action(step[seat]) for seat in asked}
        ends = "ACTIVE" not in list_statuses(step)
        failed = self._failures(step, actions) if ends else {}
        for seat, answer in failed.items():
            self.told.failed(seat, answer)
        if failed:
            for seat in actions.keys() - failed.keys():  # its move came too late to count
                self.told.answers.append((seat, Reply(str(actions[seat]), action=actions[seat])))
            if number + 1 < len(self.steps):
                fail(f"seat {min(failed)} fails, but the episode continues")
            self.check_step(number)
            return
        for seat in asked:
            if type(actions[seat]) is not int:
                fail(f"seat {seat} moves {actions[seat]!r}, which is not an action, but the episode continues")
        self.told.moves(actions, {seat: str(action) for seat, action in actions.items()})
        self.after(number)
        self.check_step(number)

    def _check_running(self, number: int) -> None:
        rewards = [state["reward"] for state in self.steps[number]]
        if self.told.match.state.is_terminal() or number + 1 == len(self.steps):
            return
        if any(reward != self.running_reward for reward in rewards):
            fail(f"the rewards are {rewards} before the end, but should be {self.running_reward}")

    def _note_early(self, step: Sequence[State]) -> None:
        if failed := {
            self.told.agents[seat]: FAILED[state["status"]]
            for seat, state in enumerate(step)
            if state["status"] in FAILED and state["action"] is None
        }:
            self.early = failed

    def _failures(self, step: Sequence[State], actions: Mapping[int, Any]) -> dict[int, Reply | PlayerFailure | None]:
        """Return how the seats to move failed in the last step. An illegal move is a failure, whatever the status says:
        some environments end such an episode as `DONE`."""
        match = self.told.match
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
                failed[seat] = self.told.unparsable(repr(action))
            elif action not in match.legal_actions(seat):
                failed[seat] = Reply(str(action), action=action)
        return failed
