"""OpenSpiel 2 trajectories (`pyspiel.Trajectory(state).to_string()`) as JSON.

A trajectory has a header (`game_string`, `terminal`, `returns`, `meta_data`) and transitions, each with the player and
its action: -1 for chance, -2 for a joint action. It names no agents. `meta_data` is free text; if it is a JSON object,
its `players` (a list of names), `id` and `seed` are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from gymposium.games.openspiel.lookup import load_by_engine_name
from gymposium.games.protocol import CHANCE
from gymposium.util.strict_json import strict_json
from gymposium_arena.audit.episode import Episode, entry, fail
from gymposium_arena.audit.logged_match import LoggedMatch, causes

NAME = "openspiel"
_JOINT = -2


def knows(data: Mapping[str, Any]) -> bool:
    """Return whether this is a trajectory."""
    return "header" in data and "transitions" in data


def read(data: Mapping[str, Any], episode: Episode) -> None:
    """Fill in the episode of a trajectory. Raises `BadLog` at the first mismatch."""
    header, transitions = entry(data, "header", dict), entry(data, "transitions", list)
    meta = _meta(header.get("meta_data"))
    episode.id = str(meta.get("id", episode.id))
    game = load_by_engine_name(entry(header, "game_string", str, "the header"))
    episode.game = game.name
    episode.name_agents(meta.get("players"), game.seats)
    seed = meta.get("seed")
    told = LoggedMatch(game, episode.id, episode.agents, seed=seed if type(seed) is int else None)
    for number, transition in enumerate(transitions):
        try:
            _tell(told, transition)
        except ValueError as error:
            fail(f"transition {number}: {error}")
    terminal, returns = entry(header, "terminal", bool, "the header"), header.get("returns")
    result, record = told.play({})
    if result.ending.broke_off:
        if terminal:
            fail(f"the header says that the match is over, but {result.ending.detail}")
        episode.unfinished = result.ending.detail
        return
    if not terminal:
        fail("the header says that the match is unfinished, but it is over after the last transition")
    if returns is not None and returns != list(result.utilities):
        fail(f"the header's returns are {returns}, but the match pays {list(result.utilities)}")
    episode.record, episode.failures = record, causes(record)


def _meta(text: Any) -> Mapping[str, Any]:
    if isinstance(text, str):
        with suppress(ValueError):  # free text
            value = strict_json(text)
            if isinstance(value, dict):
                return value
    return {}


def _tell(told: LoggedMatch, transition: Any) -> None:
    player = entry(transition, "player", int, "it")
    match = told.match
    if player == CHANCE:
        _check_outcomes(told, transition.get("chance_outcomes"))
        told.chance(entry(transition, "action", int, "it"))
    elif player == _JOINT:
        joint = entry(transition, "joint_action", list, "it")
        if not all(type(action) is int for action in joint):
            fail(f"the joint action {joint} is not a list of integers")
        if len(joint) != told.game.seats:
            fail(f"the joint action has {len(joint)} actions for {told.game.seats} seats")
        told.moves({seat: joint[seat] for seat in match.to_move()}, _names(joint))
    else:
        action = entry(transition, "action", int, "it")
        legal = transition.get("legal_actions")
        if legal is not None and player in match.to_move() and legal != match.legal_actions(player):
            fail(f"its legal_actions are {legal}, but seat {player} has {match.legal_actions(player)}")
        told.moves({player: action}, {player: str(action)})


def _names(joint: Sequence[Any]) -> dict[int, str]:
    return {seat: str(action) for seat, action in enumerate(joint)}


def _check_outcomes(told: LoggedMatch, outcomes: Any) -> None:
    if outcomes is None or not told.match.state.is_chance_node():
        return
    if [tuple(outcome) for outcome in outcomes] != list(told.game.list_chances(told.match.state)):
        fail("its chance_outcomes do not match the position")
