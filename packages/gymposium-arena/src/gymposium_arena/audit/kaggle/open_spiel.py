"""Episodes of kaggle-environments' `open_spiel_*` environments."""

from __future__ import annotations

import re
from typing import Any

from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.openspiel.lookup import load_by_engine_name
from gymposium.match import MatchResult
from gymposium.util.strict_json import strict_json
from gymposium_arena.audit.episode import entry, fail
from gymposium_arena.audit.kaggle.steps import State, Steps, list_statuses

_LOSS = -1
"""The reward of the failing seat; the others get 1."""


class OpenSpielSteps(Steps):
    """The steps of an `open_spiel_*` episode, checked against the engine's own list of actions."""

    first = 2
    """In step 1 the environment draws the first chance outcome; agents are asked, but do not move."""
    running_reward = None

    def make_game(self) -> OpenSpielGame:
        info = entry(self.data, "info", dict)
        if info.get("initialActions"):
            fail("it begins with opening-book moves that no agent made")
        self.history = [_parsed(action) for action in entry(info, "actionHistory", list, "info")]
        self.at = 0
        name = entry(info, "openSpielGameStringResolved", str, "info")
        return load_by_engine_name(re.sub(r"^([a-z0-9_]+)_proxy\b", r"\1", name).replace("()", ""))

    def get_action(self, state: State) -> Any:
        action = state["action"]
        return action.get("submission") if isinstance(action, dict) else action

    def begin(self) -> None:
        self._tell_chance()

    def _tell_chance(self) -> None:
        while self.told.match.state.is_chance_node():
            action = self._next()
            if type(action) is not int:
                fail(f"info.actionHistory has {action} at a chance node")
            self.told.chance(action)

    def _next(self) -> Any:
        if self.at == len(self.history):
            fail(f"info.actionHistory ends after {self.at} actions, but the episode continues")
        self.at += 1
        return self.history[self.at - 1]

    def after(self, number: int) -> None:
        # this step's moves are the last ones reported
        told = self.told.match.state.history()
        before = sum(len(action) if isinstance(action, list) else 1 for action in self.history[: self.at])
        noted, mine = self._next(), told[before:]
        if (noted if isinstance(noted, list) else [noted]) != mine:
            fail(f"the agents submit {mine}, but info.actionHistory has {noted}")
        self._tell_chance()

    def check_step(self, number: int) -> None:
        match = self.told.match
        for seat, state in enumerate(self.steps[number]):
            seen = state["observation"]
            here = {
                "playerId": seat,
                "isTerminal": match.state.is_terminal(),
                "currentPlayer": match.state.current_player(),
            }
            for key, value in here.items():
                if seen.get(key) != value:
                    fail(f"the observation of seat {seat} has {key} {seen.get(key)}, but it should be {value}")
            shown = _history_in(seen.get("serializedGameAndState"))
            if shown is not None and shown != match.state.history():
                fail(
                    f"the state shown to seat {seat} has the history {shown}, but it should be {match.state.history()}"
                )
            applied = entry(state, "info", dict, f"seat {seat}").get("actionApplied")
            if applied is not None and applied != self.get_action(state):
                fail(f"info.actionApplied of seat {seat} is {applied}, but it submitted {self.get_action(state)}")

    def check_end(self, result: MatchResult) -> None:
        if self.at < len(self.history):
            fail(f"info.actionHistory has {len(self.history) - self.at} more actions than the steps")
        last = self.steps[-1]
        rewards, statuses, ending = [state["reward"] for state in last], list_statuses(last), result.ending
        if ending.seat is None:
            expected: list[float | None] = list(result.utilities)
            states = {"DONE"}
        elif ending.kind == "no legal move":
            expected = [_LOSS if seat == ending.seat else -_LOSS for seat in range(self.game.seats)]
            states = {"DONE"}
        else:
            strict = bool(self.data["configuration"].get("strictMode"))
            expected = [-_LOSS if strict and seat != ending.seat else None for seat in range(self.game.seats)]
            states = {"TIMEOUT", "ERROR", *(["DONE"] if strict else [])}
        if rewards != expected:
            fail(f"the rewards are {rewards}, but they should be {expected} ({ending.describe()})")
        if not states.issuperset(statuses):
            fail(f"the statuses are {statuses}, but {ending.describe()}")


def _parsed(action: Any) -> Any:
    """Return an action of `info.actionHistory`: an integer, or the list of a joint action."""
    try:
        value = strict_json(action) if isinstance(action, str) else None
    except ValueError:
        value = None
    if type(value) is not int and not (isinstance(value, list) and all(type(part) is int for part in value)):
        fail(f"info.actionHistory has {action!r}, which is not an action")
    return value


def _history_in(serialized: Any) -> list[int] | None:
    """Return the actions in a serialized state; None if it has another form. Nothing in it is unpickled."""
    if not isinstance(serialized, str):
        return None
    state = serialized.partition("[State]\n")[2].split("\n")
    if state[0].startswith("history="):  # kaggle-environments wraps the engine's game in its own
        pairs = filter(None, state[0].removeprefix("history=").split(","))
        actions = [pair.rpartition(":")[2] for pair in pairs]
    else:
        actions = [line for line in state if line and not line.startswith("FEN:")]
    return [int(action) for action in actions] if all(re.fullmatch(r"-?\d+", a) for a in actions) else None
