"""Parse kaggle-environments' `open_spiel_*` episodes."""

from __future__ import annotations

import re
from typing import Any

from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.openspiel.lookup import load_by_engine_name
from gymposium.match import MatchResult
from gymposium.util.strict_json import parse_strict_json
from gymposium_arena.audit.episode import fail, get_entry
from gymposium_arena.audit.kaggle.steps import State, Steps, list_statuses

_LOSS = -1
"""The reward of the failing seat; the other seats get 1."""


class OpenSpielSteps(Steps):
    """The steps of an `open_spiel_*` episode, checked against the engine's action history."""

    first_move_step = 2
    """In step 1 the environment draws the first chance outcome, and agents' actions are ignored."""
    running_reward = None

    def make_game(self) -> OpenSpielGame:
        info = get_entry(self.data, "info", dict)
        if info.get("initialActions"):
            fail("it begins with opening-book moves that no agent made")
        self.history = [_parse_action(action) for action in get_entry(info, "actionHistory", list, "info")]
        self.at = 0
        name = get_entry(info, "openSpielGameStringResolved", str, "info")
        return load_by_engine_name(re.sub(r"^([a-z0-9_]+)_proxy\b", r"\1", name).replace("()", ""))

    def get_action(self, state: State) -> Any:
        action = state["action"]
        return action.get("submission") if isinstance(action, dict) else action

    def report_start(self) -> None:
        self._report_chance()

    def _report_chance(self) -> None:
        while self.logged.match.state.is_chance_node():
            action = self._take_action()
            if type(action) is not int:
                fail(f"info.actionHistory has {action} at a chance node")
            self.logged.add_chance(action)

    def _take_action(self) -> Any:
        if self.at == len(self.history):
            fail(f"info.actionHistory ends after {self.at} actions, but the episode continues")
        self.at += 1
        return self.history[self.at - 1]

    def report_after(self, number: int) -> None:
        # the most recent moves belong to this step
        moves = self.logged.match.state.history()
        before = sum(len(action) if isinstance(action, list) else 1 for action in self.history[: self.at])
        noted, mine = self._take_action(), moves[before:]
        if (noted if isinstance(noted, list) else [noted]) != mine:
            fail(f"the agents submit {mine}, but info.actionHistory has {noted}")
        self._report_chance()

    def check_step(self, number: int) -> None:
        match = self.logged.match
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
            shown = _parse_history(seen.get("serializedGameAndState"))
            if shown is not None and shown != match.state.history():
                fail(
                    f"the state shown to seat {seat} has the history {shown}, but it should be {match.state.history()}"
                )
            applied = get_entry(state, "info", dict, f"seat {seat}").get("actionApplied")
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


def _parse_action(action: Any) -> Any:
    """Parse an entry of `info.actionHistory`: an integer, or a list for a joint action."""
    try:
        value = parse_strict_json(action) if isinstance(action, str) else None
    except ValueError:
        value = None
    if type(value) is not int and not (isinstance(value, list) and all(type(part) is int for part in value)):
        fail(f"info.actionHistory has {action!r}, which is not an action")
    return value


def _parse_history(serialized: Any) -> list[int] | None:
    """Return the actions in a serialized state, or None if its format is unknown. Nothing is unpickled."""
    if not isinstance(serialized, str):
        return None
    state = serialized.partition("[State]\n")[2].split("\n")
    if state[0].startswith("history="):  # kaggle-environments' wrapper around the engine's game
        pairs = filter(None, state[0].removeprefix("history=").split(","))
        actions = [pair.rpartition(":")[2] for pair in pairs]
    else:
        actions = [line for line in state if line and not line.startswith("FEN:")]
    return [int(action) for action in actions] if all(re.fullmatch(r"-?\d+", a) for a in actions) else None
