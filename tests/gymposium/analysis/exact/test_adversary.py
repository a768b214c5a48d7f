"""Adversary files, and the player that plays them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymposium.analysis.exact import complete_policy, compute_value, find_best_response, tabulate_policy
from gymposium.analysis.exact.adversary import Adversary, Target, open_adversary
from gymposium.errors import BadOption, BadRecord, GymposiumError, PermissionRequired
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.players.grammar import check_named_player, make_player
from gymposium.players.identity import Identity
from gymposium.players.random import RandomPlayer
from gymposium.util.streams import stream

Factory = Callable[..., Any]
TARGET = Target.from_identity("odd-1", {"file": "odd.py"}, Identity({"odd.bin": "sha256:00"}))


def write_adversary(path: Path, game: str, player: Any) -> float:
    """Write the adversary of a player, and return the player's exploitability."""
    response = find_best_response(complete_policy(tabulate_policy(load_game(game), player), player))
    Adversary.from_response(response, TARGET, "traversal").write(path)
    return response.exploitability


@pytest.mark.parametrize("name", ["kuhn_poker", "goofspiel(num_cards=3)", "tic_tac_toe"])
def test_adversary_gains_its_computed_exploitability(make_odds_player: Factory, tmp_path: Path, name: str) -> None:
    game, target = load_game(name), make_odds_player(1, 0.9)
    taken = write_adversary(tmp_path / "a.json", name, target)
    player = make_player(f"exploit:{tmp_path}/a.json")
    found = compute_value(tabulate_policy(game, player), tabulate_policy(game, target))
    assert found.mean.mean_return == pytest.approx(taken)
    read = Adversary.read(tmp_path / "a.json")
    assert [outcome.mean_return for outcome in found.seats] == pytest.approx(read.returns)
    assert (read.game, read.target) == (name, TARGET)


def test_adversary_plays_other_opponents(tmp_path: Path) -> None:
    write_adversary(tmp_path / "a.json", "kuhn_poker", RandomPlayer())
    players = [make_player(f"exploit:{tmp_path}/a.json"), make_player("cfr-10")]
    jobs = [MatchJob(f"m{i}", load_game("kuhn_poker"), players, seed=stream(0, i).getrandbits(48)) for i in range(50)]
    assert all(match.ending.seat is None for match in play(jobs))


def test_records_hold_the_digest_and_reject_another_file(make_odds_player: Factory, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_adversary(path, "kuhn_poker", RandomPlayer())
    name = open_adversary(str(path)).name
    assert name == f"exploit:{path}#{Adversary.read(path).digest[7:19]}"
    assert make_player(name).name == name
    write_adversary(path, "kuhn_poker", make_odds_player(7))
    with pytest.raises(BadOption, match="another adversary"):
        make_player(name)
    with pytest.raises(PermissionRequired):
        check_named_player(name)  # as in a record that somebody else wrote


def test_rejects_a_changed_file_and_another_game(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_adversary(path, "kuhn_poker", RandomPlayer())
    with pytest.raises(GymposiumError, match=r"was fitted for kuhn_poker and does not play leduc_poker"):
        open_adversary(str(path)).check_game(load_game("leduc_poker"))
    content = json.loads(path.read_text())
    content["moves"][0]["0"] = "bet" if content["moves"][0]["0"] == "pass" else "pass"
    path.write_text(json.dumps(content))
    with pytest.raises(BadOption, match="was modified"):
        open_adversary(str(path))
    path.write_text("{}")
    with pytest.raises(BadRecord, match="holds no adversary"):
        open_adversary(str(path))
