"""Check environments with the test functions of Gymnasium and PettingZoo. Warnings count as errors."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

from gymnasium.utils.env_checker import check_env

from gymposium.envs.aec import env as aec_env
from gymposium.envs.gym import TextGameEnv
from gymposium.envs.parallel import TextGameParallelEnv
from gymposium.envs.views import KINDS
from gymposium.errors import MissingExtra
from gymposium.games.protocol import Game
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, format_error, require, shorten
from gymposium_testing.walk import AnyPlayer

_IGNORED = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be",
    "Observation is a single number",
    "Observation numpy array is all zeros",
    "The observation contains negative numbers",
)
"""Prefixes of PettingZoo warnings to ignore, about dict observations and harmless numbers."""


def _import_pettingzoo_tests() -> Any:
    """Import PettingZoo's tests, which need pytest."""
    import pettingzoo.test

    return pettingzoo.test


@contextlib.contextmanager
def _raise_warnings(what: str, game: Game) -> Iterator[None]:
    """Turn warnings and errors into `CheckFailed`, and suppress printed output."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("error")
            for message in _IGNORED:
                warnings.filterwarnings("ignore", message=message)
            yield
    except MissingExtra:
        raise
    except Exception as error:  # the test function or the game may raise anything
        raise CheckFailed(
            f"{what} fails: {format_error(error)}",
            where=game.name,
            fix="check the game's observations and returns: the environments are gymposium's own.",
        ) from error


def gymnasium_check_env_passes(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Gymnasium's `check_env` passes without warnings for every seat, kind of observation but images, and reader."""
    for number, kind in enumerate(KINDS):
        if kind == "image" or (kind == "tensor" and game.tensor_shape is None):
            continue  # an image has the same space in every game, and pictures have checks of their own
        for seat in range(game.seats):
            env = TextGameEnv(
                game,
                seat=seat,
                observation=kind,
                reply=("move", "tags", "json")[(number + seat) % 3],
                prompt="full" if (number + seat) % 2 else "compact",
                opponent=[AnyPlayer()] * (game.seats - 1),
            )
            with _raise_warnings(f"Gymnasium's check_env ({kind}, seat {seat})", game):
                check_env(env, skip_render_check=True)


def pettingzoo_api_test_passes(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """PettingZoo's `api_test` passes without warnings specific to this game."""
    if game.spec.free_text or game.tensor_shape is None:
        raise NotApplicable("PettingZoo's test does not support text-only observations or actions")
    with _raise_warnings("PettingZoo's api_test", game):
        _import_pettingzoo_tests().api_test(aec_env(game=game), num_cycles=max(20, min(effort.decisions, 1000)))


def pettingzoo_parallel_api_test_passes(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """PettingZoo's `parallel_api_test` passes for simultaneous games, and observations lie in their spaces."""
    if game.spec.dynamics != "simultaneous":
        raise NotApplicable("its seats take turns")
    env = TextGameParallelEnv(game)
    for agent, observation in env.reset(seed=seed)[0].items():
        require(
            observation in env.observation_space(agent),
            f"the parallel observation of {agent} is outside its space: {shorten(observation)}",
            "let tensor() return finite numbers of the right shape, and keep texts short enough.",
            f"{game.name}, seed {seed}",
        )
    with _raise_warnings("PettingZoo's parallel_api_test", game):
        _import_pettingzoo_tests().parallel_api_test(
            TextGameParallelEnv(game), num_cycles=max(20, min(effort.decisions, 1000))
        )


def pettingzoo_seed_test_passes(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """PettingZoo's `seed_test` passes: equal seeds give equal observations."""
    if game.spec.free_text:
        raise NotApplicable("PettingZoo's test draws actions from spaces, which gives meaningless texts")
    with _raise_warnings("PettingZoo's seed_test", game):
        _import_pettingzoo_tests().seed_test(lambda: aec_env(game=game), num_cycles=max(20, min(effort.decisions, 500)))
