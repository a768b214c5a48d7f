"""Tests of an installation of the wheel of gymposium alone. `wheels.py` runs them in such an environment; they are not
part of the other tests, whose environment has everything."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

import gymposium
from gymposium.match import MatchJob, play
from gymposium.plugins.host import host
from gymposium.records import RecordWriter, verify_file

HEAVY = ("accelerate", "jax", "peft", "tensorflow", "torch", "transformers")
SEARCHABLE = ("tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker")


def test_wheel_is_installed() -> None:
    assert Path(gymposium.__file__).is_relative_to(sys.prefix)


@pytest.mark.parametrize("library", HEAVY)
def test_no_deep_learning_library_is_installed(library: str) -> None:
    assert importlib.util.find_spec(library) is None


@pytest.mark.parametrize("game", sorted(host().games))
def test_random_players_play_every_game_and_records_verify(game: str, tmp_path: Path) -> None:
    player = gymposium.make_player("random")
    loaded = gymposium.load_game(game)
    with RecordWriter(tmp_path / "matches.jsonl") as writer:
        for played in play(MatchJob(f"m{i}", loaded, [player] * loaded.seats, i) for i in range(5)):
            writer.write(played)
    found = verify_file(tmp_path / "matches.jsonl")
    assert (found.matches, found.problems) == (5, [])


@pytest.mark.parametrize("game", SEARCHABLE)
def test_search_plays(game: str) -> None:
    players = [gymposium.make_player("mcts-20"), gymposium.make_player("random")]
    loaded = gymposium.load_game(game)
    ended = list(play(MatchJob(f"m{i}", loaded, players, i) for i in range(3)))
    assert len(ended) == 3
    assert all(played.ending.seat is None for played in ended)


@pytest.mark.parametrize("game", sorted(host().games))
def test_environments_play(game: str) -> None:
    env = gymnasium.make(host().games[game].env_id)
    _, info = env.reset(seed=0)
    terminated = False
    while not terminated:
        moves = info["legal_moves"]  # none where the match was over before this seat was asked, as in euchre
        _, _, terminated, truncated, info = env.step(moves[0] if moves else 0)
        assert not truncated
    assert info["result"] in ("win", "draw", "loss", "score")
    env.close()


def test_command_plays(tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("gymposium"), "run", "tic_tac_toe", "--players", "mcts-20,random"]
    options = ["-n", "4", "--seed", "1", "--json"]
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)


def test_adversary_is_written_and_plays(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("gymposium")
    exploit = [command, "exploit", "random", "--game", "kuhn_poker", "--out", "found"]
    subprocess.run(exploit, cwd=tmp_path, check=True)
    run = [command, "run", "kuhn_poker", "--players", "exploit:found/adversary.json,random", "-n", "4", "--json"]
    assert json.loads(subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout)


def test_language_model_error_names_the_install_command() -> None:
    with pytest.raises(gymposium.errors.MissingExtra, match="pip install gymposium-agents"):
        gymposium.make_player("lm:some-model")
    with pytest.raises(gymposium.errors.MissingExtra, match=r'pip install "gymposium-agents\[api\]"'):
        gymposium.make_player("api:some-model")


def test_server_error_names_the_install_command(tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("gymposium"), "serve-env", "tic_tac_toe"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'pip install "gymposium[serve]"' in done.stderr


def test_viewer_error_names_the_install_command(tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("gymposium"), "view", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install gymposium-viewer" in done.stderr
