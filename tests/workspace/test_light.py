"""The core stays light where everything is installed: what it does not need, it does not import."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = "accelerate jax peft sentencepiece tensorflow tokenizers torch transformers".split()

PLAYS = """
import gymnasium, gymposium
from gymposium.driver import MatchJob, play
players = [gymposium.make_player("mcts-5"), gymposium.make_player("random")]
for game in ("tic_tac_toe", "kuhn_poker"):
    assert len(list(play([MatchJob("m", gymposium.load_game(game), players, 0)]))) == 1
env = gymnasium.make("TextTicTacToe-v0")
env.reset(seed=0)
env.step("b2")
"""


def imported(program: str) -> set[str]:
    """Top-level modules that a fresh process has after running the program."""
    ask = "\nimport sys\nprint('\\n' + ' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", program + ask], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("program", ["import gymposium", PLAYS], ids=["import", "play"])
def test_no_deep_learning_library_is_imported(program: str) -> None:
    assert not imported(program) & set(HEAVY)


def test_importing_gymposium_imports_no_engine_and_no_command_line() -> None:
    assert not imported("import gymposium") & {"open_spiel", "pyspiel", "rich", "scipy", "typer"}
