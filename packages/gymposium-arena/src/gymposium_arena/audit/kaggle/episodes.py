"""Parse kaggle-environments episodes (`env.toJSON()`) of `connectx` and `open_spiel_*`.

Each step holds each agent's observation, action, reward and status. `open_spiel_*` episodes also list the engine's
actions, chance included (`info.actionHistory`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymposium_arena.audit.episode import Episode, fail, get_entry
from gymposium_arena.audit.kaggle.connectx import ConnectX
from gymposium_arena.audit.kaggle.open_spiel import OpenSpielSteps
from gymposium_arena.audit.kaggle.steps import Steps, list_statuses
from gymposium_arena.audit.logged_match import find_causes

NAME = "kaggle-environments"


def recognizes(data: Mapping[str, Any]) -> bool:
    """Return whether this is an episode of kaggle-environments."""
    return {"steps", "configuration", "name", "statuses"} <= data.keys()


def read(data: Mapping[str, Any], episode: Episode) -> None:
    """Parse and replay a JSON object into `episode`. Raises `BadLog` at the first mismatch."""
    episode.id = str(data.get("id") or episode.id)
    name = get_entry(data, "name", str)
    steps = _load_steps(data, name, episode)
    episode.game = steps.game.name
    _check_summary(data, steps.steps)
    logged = steps.report()
    if steps.early_failures:  # a match cannot record a failure before the first turn
        episode.failures = steps.early_failures
        episode.unfinished = "an agent failed before its first turn"
        return
    result, record = logged.play({"kaggle-environments": str(data.get("module_version", "unknown"))})
    if result.ending.broke_off:
        if "ACTIVE" not in list_statuses(steps.steps[-1]):
            fail(f"the statuses say that the match is over, but {result.ending.detail}")
        episode.unfinished = result.ending.detail
        return
    steps.check_end(result)
    episode.record, episode.failures = record, find_causes(record)


def _load_steps(data: Mapping[str, Any], name: str, episode: Episode) -> Steps:
    steps = get_entry(data, "steps", list)
    if not steps or not all(isinstance(step, list) and step and all(map(_is_state, step)) for step in steps):
        fail("its steps are not lists of agent states")
    seats = len(steps[0])
    if any(len(step) != seats for step in steps):
        fail(f"its steps have different numbers of agents; the first has {seats}")
    episode.name_agents(_get_team_names(data, seats), seats)
    if name == "connectx":
        return ConnectX(data, steps, episode)
    if not name.startswith("open_spiel_"):
        fail(f"unsupported environment {name!r} (supported: connectx, open_spiel_*)")
    return OpenSpielSteps(data, steps, episode)


def _is_state(state: Any) -> bool:
    return isinstance(state, dict) and {"action", "reward", "status", "observation"} <= state.keys()


def _get_team_names(data: Mapping[str, Any], seats: int) -> Any:
    """Return Kaggle's team names, or None unless there is one per seat."""
    info = data.get("info")
    teams = info.get("TeamNames") if isinstance(info, dict) else None
    return teams if isinstance(teams, list) and len(teams) == seats else None


def _check_summary(data: Mapping[str, Any], steps: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Check that the episode's final rewards and statuses match its last step."""
    for key, what in (("rewards", "reward"), ("statuses", "status")):
        last = [state[what] for state in steps[-1]]
        if data.get(key) != last:
            fail(f"its {key} are {data.get(key)}, but those of the last step are {last}")
