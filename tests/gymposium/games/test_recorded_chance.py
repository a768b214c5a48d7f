"""`recorded:GAME`: records of matches with chance drawn elsewhere."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace

import pytest

from gymposium.errors import BadParameter, BadRecord, PermissionRequired
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Event
from gymposium.games.registry import has_recorded_chance, is_registered, load_game, load_named_game, needs_isolation
from gymposium.records import Record, find_first_difference, replay_decisions
from gymposium_arena.audit.logged_match import LoggedMatch


def play_elsewhere(name: str, seed: int) -> list[Event]:
    """The events of a random match of the engine, whose chance no seed of ours gives."""
    game, rng = load_game(name), random.Random(seed)
    assert isinstance(game, OpenSpielGame)
    match = game.begin(None)
    while not match.state.is_terminal():
        match.advance([rng.choice(match.state.legal_actions())])
    return match.events


def make_record(name: str, seed: int = 3) -> Record:
    """The record of that match, as an audit makes it."""
    game = load_game(name)
    assert isinstance(game, OpenSpielGame)
    told = LoggedMatch(game, "m", [f"p{seat}" for seat in range(game.seats)])
    rng = random.Random(seed)
    while not (state := told.match.state).is_terminal():
        action = rng.choice(state.legal_actions())
        if state.is_chance_node():
            told.add_chance(action)
        else:
            told.add_moves({state.current_player(): action}, {state.current_player(): str(action)})
    return told.play({})[1]


@pytest.mark.parametrize("name", ["kuhn_poker", "backgammon", "pig(winscore=20)"])
def test_record_with_foreign_chance_replays(name: str) -> None:
    record = make_record(name)
    assert record.game == f"recorded:{name}"
    assert record.ending.kind == "over"
    assert find_first_difference(record) is None
    assert find_first_difference(replace(record, game=name)) is not None  # the seed gives other dice
    assert len(list(replay_decisions(record, lambda match: len(match.events)))) > 1


def test_changed_outcome_or_move_is_detected() -> None:
    record = make_record("kuhn_poker")
    first, second, *moves = record.events
    assert find_first_difference(replace(record, events=[second, second, *moves])) is not None
    assert find_first_difference(replace(record, events=[first, *moves])) is not None
    assert find_first_difference(replace(record, returns=[-value for value in record.returns])) is not None


def test_recorded_game_is_for_records_only() -> None:
    with pytest.raises(BadRecord, match=r"takes its chance outcomes from a record, .* use kuhn_poker"):
        load_game("recorded:kuhn_poker").new(1)
    with pytest.raises(BadParameter, match="tic_tac_toe has no chance"):
        load_game("recorded:tic_tac_toe")
    with pytest.raises(BadParameter, match="only OpenSpiel games"):
        load_game("recorded:negotiation")


def test_recorded_game_needs_the_permissions_of_its_game() -> None:
    with pytest.raises(PermissionRequired):
        load_named_game("recorded:openspiel:bargaining(instances_file=x)")
    assert needs_isolation("recorded:openspiel:kuhn_poker")
    assert not needs_isolation("recorded:kuhn_poker")
    assert has_recorded_chance("recorded:kuhn_poker")
    assert not is_registered("recorded:kuhn_poker")


def test_copies_keep_the_outcomes() -> None:
    events = play_elsewhere("kuhn_poker", 1)
    game = load_game("recorded:kuhn_poker").recorded(events)
    assert pickle.loads(pickle.dumps(game)).new(0).events == game.new(0).events == events[:2]
