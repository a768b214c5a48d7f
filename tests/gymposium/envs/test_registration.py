"""Ids in Gymnasium and PettingZoo, and the errors of `make`. Tests of imports use fresh processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import pettingzoo
import pytest

import gymposium
from gymposium.envs.registration import register_envs
from gymposium.errors import BadOption, BadParameter, UnknownName
from gymposium.plugins.host import host

PLUGIN = """
from gymposium import GameSpec, hookimpl

@hookimpl
def gymposium_games():
    yield GameSpec(name="small_goof", title="Small goofspiel", summary="Two cards.", namespace="somebody",
                   entry_point="my_plugin:game", information="imperfect", dynamics="simultaneous", chance=True)

def game(spec, params):
    from gymposium.games.openspiel.adapter import OpenSpielGame, load_engine_game
    from gymposium.games.cards.goofspiel import Goofspiel
    engine = load_engine_game("goofspiel", {"num_cards": 2, "imp_info": True, "players": 2})
    return OpenSpielGame(spec, params, engine, Goofspiel(2, "random"))
"""


def python(code: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_game_has_its_ids() -> None:
    for spec in host().games.values():
        assert gymnasium.spec(spec.env_id).kwargs == {"game": spec.name}
        assert pettingzoo.spec("aec", spec.env_id).kwargs == {"game": spec.name}
        assert (spec.env_id in pettingzoo.parallel_registry) == (spec.dynamics == "simultaneous")


def test_registering_again_changes_nothing_without_warning() -> None:
    before = dict(gymnasium.registry)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register_envs()
    assert gymnasium.registry == before


def test_module_prefix_needs_no_import() -> None:
    code = "import gymnasium; e = gymnasium.make('gymposium:TextGoofspiel-v0', num_cards=4); print(e.reset(seed=0)[0])"
    assert "1 to 4" in python(code)


def test_importing_loads_no_engine_and_no_command_line() -> None:
    heavy = ("pyspiel", "scipy", "rich", "typer", "torch")
    code = f"import sys, gymposium; print([m for m in {heavy} if m in sys.modules])"
    assert python(code) == "[]"


def test_game_from_a_file_gets_ids_after_registering_again(tmp_path: Path) -> None:
    (tmp_path / "my_plugin.py").write_text(PLUGIN)
    code = (
        "import gymnasium, pettingzoo, gymposium\n"
        "from gymposium.plugins.host import host\n"
        "from gymposium.envs.registration import register_envs\n"
        "host().load_file('my_plugin.py'); register_envs(); register_envs()\n"
        "env = gymnasium.make('somebody/TextSmallGoof-v0'); env.reset(seed=1)\n"
        "print(env.step('bid 2')[2], pettingzoo.make('parallel', 'somebody/TextSmallGoof-v0').game.name)\n"
    )
    assert python(code, cwd=tmp_path) == "True small_goof"


def test_misspelled_keyword_suggests_the_nearest() -> None:
    with pytest.raises(BadParameter, match="num_cards"):
        gymnasium.make("TextGoofspiel-v0", num_card=4)
    with pytest.raises(BadParameter, match="opponent"):
        gymnasium.make("TextTicTacToe-v0", oponent="random")
    with pytest.raises(BadParameter, match="on_illegal"):
        pettingzoo.make("aec", "TextTicTacToe-v0", on_ilegal="forfeit")


@pytest.mark.parametrize(
    ("keywords", "error", "hint"),
    [
        ({"opponent": "randon"}, UnknownName, "'random'"),
        ({"opponent": ["random", "random"]}, BadOption, "got 2 players for 1"),
        ({"seat": 2}, BadOption, "from 0 to 1"),
        ({"seat": "first"}, BadOption, "'random'"),
        ({"on_illegal": "retry"}, BadOption, r"retry\(n\)"),
        ({"reply": "tag"}, UnknownName, "'tags'"),
        ({"prompt": "short"}, BadOption, "'compact'"),
        ({"observation": "tensors"}, BadOption, "'tensor'"),
        ({"num_cards": 99}, BadParameter, "2 to 16"),
    ],
)
def test_invalid_value_error_says_what_is_valid(keywords: dict[str, object], error: type[Exception], hint: str) -> None:
    with pytest.raises(error, match=hint):
        gymnasium.make("TextGoofspiel-v0", **keywords)


def test_specs_serialize_and_make_the_same_environment() -> None:
    env = gymnasium.make("TextGoofspiel-v0", num_cards=4, seat=1, reply="json")
    assert env.spec is not None
    spec = pickle.loads(pickle.dumps(env.spec))
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()))
    assert again.reset(seed=5)[0] == env.reset(seed=5)[0]
    assert env.unwrapped.game.name == "goofspiel(num_cards=4)"


def test_vector_environments() -> None:
    envs = gymnasium.make_vec("TextTicTacToe-v0", num_envs=3, vectorization_mode="sync", seat=1)
    texts, info = envs.reset(seed=7)
    assert len(texts) == 3
    assert all("Tic-tac-toe" in text for text in texts)
    moves = [legal[0] for legal in info["legal_moves"]]
    texts, rewards, *_ = envs.step(moves)
    assert len(set(texts)) > 1
    assert rewards.shape == (3,)
    assert gymposium.load_game("tic_tac_toe").num_actions == envs.single_action_space.n


def test_process_vectorization_needs_shared_memory_off() -> None:
    with pytest.raises(ValueError, match="shared_memory=False"):
        gymnasium.make_vec("TextTicTacToe-v0", num_envs=2, vectorization_mode="async")
    without = {"shared_memory": False, "context": "spawn"}
    envs = gymnasium.make_vec(
        "gymposium:TextTicTacToe-v0", num_envs=2, vectorization_mode="async", vector_kwargs=without
    )
    alone = gymnasium.make_vec("TextTicTacToe-v0", num_envs=2, vectorization_mode="sync")
    try:
        assert envs.reset(seed=3)[0] == alone.reset(seed=3)[0]
        assert envs.step(["b2", "a1"])[0] == alone.step(["b2", "a1"])[0]
    finally:
        envs.close()


def test_taken_environment_id_skips_only_its_game(tmp_path: Path) -> None:
    (tmp_path / "my_plugin.py").write_text(PLUGIN)
    code = (
        "import gymnasium; gymnasium.register('somebody/TextSmallGoof', lambda: None)\n"
        "from gymposium.envs.registration import register_envs; from gymposium.plugins.host import host\n"
        "host().load_file('my_plugin.py'); register_envs(); register_envs()\n"
        "gymnasium.spec('TextTicTacToe-v0'); print(*host().complaints, sep='\\n')"
    )
    complaint = python(code, tmp_path)
    assert complaint.startswith("gymposium plugin 'my_plugin': its game 'small_goof' has no environment somebody/Text")
    assert "\n" not in complaint
