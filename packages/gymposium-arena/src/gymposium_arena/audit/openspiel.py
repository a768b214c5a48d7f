"""Parse OpenSpiel 2 trajectories (`pyspiel.Trajectory(state).to_string()`).

A trajectory has a header (`game_string`, `terminal`, `returns`, `meta_data`) and transitions, each with a player and
an action. Player -1 is chance, and -2 marks a joint action. Agents have no names. If the free text `meta_data` is a
JSON object, its `players` (a list of names), `id` and `seed` are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gymposium.games.openspiel.lookup import load_by_engine_name
from gymposium.games.protocol import CHANCE
from gymposium.util.strict_json import parse_strict_json
from gymposium_arena.audit.episode import Episode, fail, get_entry
from gymposium_arena.audit.logged_match import LoggedMatch, find_causes

NAME = "openspiel"
_JOINT = -2


def recognizes(data: Mapping[str, Any]) -> bool:
    """Return whether this is a trajectory."""
    return "header" in data and "transitions" in data


def read(data: Mapping[str, Any], episode: Episode) -> None:
    """Parse and replay a trajectory into `episode`. Raises `BadLog` at the first mismatch."""
    header, transitions = get_entry(data, "header", dict), get_entry(data, "transitions", list)
    meta = _parse_metadata(header.get("meta_data"))
    episode.id = str(meta.get("id", episode.id))
    game = load_by_engine_name(get_entry(header, "game_string", str, "the header"))
    episode.game = game.name
    episode.name_agents(meta.get("players"), game.seats)
    seed = meta.get("seed")
    logged = LoggedMatch(game, episode.id, episode.agents, seed=seed if type(seed) is int else None)
    for number, transition in enumerate(transitions):
        try:
            _report_transition(logged, transition)
        except ValueError as error:
            fail(f"transition {number}: {error}")
    terminal, returns = get_entry(header, "terminal", bool, "the header"), header.get("returns")
    result, record = logged.play({})
    if result.ending.broke_off:
        if terminal:
            fail(f"the header says that the match is over, but {result.ending.detail}")
        episode.unfinished = result.ending.detail
        return
    if not terminal:
        fail("the header says that the match is unfinished, but it is over after the last transition")
    if returns is not None and returns != list(result.utilities):
        fail(f"the header's returns are {returns}, but the match pays {list(result.utilities)}")
    episode.record, episode.failures = record, find_causes(record)


def _parse_metadata(text: Any) -> Mapping[str, Any]:
    if isinstance(text, str):
        with suppress(ValueError):  # free text
            value = parse_strict_json(text)
            if isinstance(value, dict):
                return value
    return {}


def _report_transition(logged: LoggedMatch, transition: Any) -> None:
    player = get_entry(transition, "player", int, "it")
    match = logged.match
    if player == CHANCE:
        _check_outcomes(logged, transition.get("chance_outcomes"))
        logged.add_chance(get_entry(transition, "action", int, "it"))
    elif player == _JOINT:
        joint = get_entry(transition, "joint_action", list, "it")
        if not all(type(action) is int for action in joint):
            fail(f"the joint action {joint} is not a list of integers")
        if len(joint) != logged.game.seats:
            fail(f"the joint action has {len(joint)} actions for {logged.game.seats} seats")
        logged.add_moves({seat: joint[seat] for seat in match.to_move()})
    else:
        action = get_entry(transition, "action", int, "it")
        legal = transition.get("legal_actions")
        if legal is not None and player in match.to_move() and legal != match.legal_actions(player):
            fail(f"its legal_actions are {legal}, but seat {player} has {match.legal_actions(player)}")
        logged.add_moves({player: action})


def _check_outcomes(logged: LoggedMatch, outcomes: Any) -> None:
    if outcomes is None or not logged.match.state.is_chance_node():
        return
    if [tuple(outcome) for outcome in outcomes] != list(logged.game.list_chances(logged.match.state)):
        fail(f"its chance_outcomes {outcomes} do not match the position")
