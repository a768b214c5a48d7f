"""Episodes of kaggle-environments (`env.toJSON()`): `connectx` and the environments `open_spiel_*`.

Each step holds each agent's observation, action, reward and status. An episode of an `open_spiel_*`
environment also lists the actions of the engine, chance included (`info.actionHistory`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymposium_arena.audit.episode import Episode, entry, fail
from gymposium_arena.audit.kaggle.connectx import ConnectX
from gymposium_arena.audit.kaggle.open_spiel import OpenSpielSteps
from gymposium_arena.audit.kaggle.steps import Steps, list_statuses
from gymposium_arena.audit.logged_match import causes

NAME = "kaggle-environments"


def knows(data: Mapping[str, Any]) -> bool:
    """Return whether this is an episode of kaggle-environments."""
    return {"steps", "configuration", "name", "statuses"} <= data.keys()


def read(data: Mapping[str, Any], episode: Episode) -> None:
    """Fill in the episode. Raises `BadLog` at the first mismatch."""
    episode.id = str(data.get("id") or episode.id)
    name = entry(data, "name", str)
    steps = _steps(data, name, episode)
    episode.game = steps.game.name
    _check_summary(data, steps.steps)
    told = steps.tell()
    if steps.early:  # it failed before its first turn, so no match can record it
        episode.failures = steps.early
        episode.unfinished = "an agent failed before its first turn"
        return
    result, record = told.play({"kaggle-environments": str(data.get("module_version", "unknown"))})
    if result.ending.broke_off:
        if "ACTIVE" not in list_statuses(steps.steps[-1]):
            fail(f"the statuses say that the match is over, but {result.ending.detail}")
        episode.unfinished = result.ending.detail
        return
    steps.check_end(result)
    episode.record, episode.failures = record, causes(record)


def _steps(data: Mapping[str, Any], name: str, episode: Episode) -> Steps:
    steps = entry(data, "steps", list)
    if not steps or not all(isinstance(step, list) and step and all(map(_is_state, step)) for step in steps):
        fail("its steps are not lists of agent states")
    seats = len(steps[0])
    if any(len(step) != seats for step in steps):
        fail("its steps have different numbers of agents")
    episode.name_agents(_teams(data, seats), seats)
    if name == "connectx":
        return ConnectX(data, steps, episode)
    if not name.startswith("open_spiel_"):
        fail(f"unsupported environment {name} (supported: connectx and open_spiel_*)")
    return OpenSpielSteps(data, steps, episode)


def _is_state(state: Any) -> bool:
    return isinstance(state, dict) and {"action", "reward", "status", "observation"} <= state.keys()


def _teams(data: Mapping[str, Any], seats: int) -> Any:
    """Return the agents' names from Kaggle's `info`; None unless there is one for each seat."""
    info = data.get("info")
    teams = info.get("TeamNames") if isinstance(info, dict) else None
    return teams if isinstance(teams, list) and len(teams) == seats else None


def _check_summary(data: Mapping[str, Any], steps: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Check that the episode's summary matches its last step."""
    for key, what in (("rewards", "reward"), ("statuses", "status")):
        last = [state[what] for state in steps[-1]]
        if data.get(key) != last:
            fail(f"its {key} are {data.get(key)}, but those of the last step are {last}")
