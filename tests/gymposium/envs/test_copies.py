"""Environments copied or pickled during a match continue like the original."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from gymposium.envs.aec import TextGameAECEnv
from gymposium.envs.gym import TextGameEnv
from gymposium.envs.parallel import TextGameParallelEnv
from gymposium.envs.vector import TextGameVectorEnv
from gymposium.errors import GymposiumError
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer

WAYS: list[Callable[[Any], Any]] = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("game", ["connect_four", "leduc_poker", "goofspiel(num_cards=5)", "openspiel:2048"])
@pytest.mark.parametrize("keywords", [{}, {"opponent": "mcts-5", "on_illegal": "retry(1)", "observation": "dict"}])
def test_copy_continues_like_the_original(game: str, keywords: dict[str, Any], way: Callable[[Any], Any]) -> None:
    if game.startswith("goofspiel") or game == "openspiel:2048":
        keywords = {**keywords, "opponent": "random"}
    env = TextGameEnv(game, seat="random", **keywords)
    _, info = env.reset(seed=8)
    for move in [info["legal_moves"][0], "nonsense"] if keywords.get("on_illegal") else [info["legal_moves"][0]]:
        *_, info = env.step(move)
    twin = way(env)
    rng, over = random.Random(1), "result" in info
    while not over:
        move = rng.choice(info["legal_moves"])
        one, two = env.step(move), twin.step(move)
        assert str(one) == str(two)
        over, info = one[2], one[4]
    assert env.match.events == twin.match.events
    assert env.match is not twin.match
    assert str(env.reset()) == str(twin.reset())


def test_branch_leaves_the_original_unchanged() -> None:
    env = TextGameEnv("connect_four")
    env.reset(seed=0)
    env.step(3)
    before = list(env.match.events)
    for column in range(7):
        branch = copy.deepcopy(env)
        branch.step(column)
        assert branch.match.events[: len(before)] == before != branch.match.events
    assert env.match.events == before


@pytest.mark.parametrize("way", WAYS)
def test_vector_and_pettingzoo_environments_copy_too(way: Callable[[Any], Any]) -> None:
    many = TextGameVectorEnv("kuhn_poker", num_envs=3)
    many.reset(seed=0)
    twin = way(many)
    assert str(many.step(["bet", "pass", 1])) == str(twin.step(["bet", "pass", 1]))
    aec = TextGameAECEnv("goofspiel")
    aec.reset(seed=0)
    aec.step("bid 3")  # the other seat's bid is still missing
    other = way(aec)
    aec.step("bid 4")
    other.step("bid 4")
    assert str(aec.last()) == str(other.last())
    parallel = TextGameParallelEnv("goofspiel")
    parallel.reset(seed=0)
    both = {"player_0": 1, "player_1": 2}
    assert str(way(parallel).step(both)) == str(parallel.step(both))


class UnseededPlayer(RandomPlayer):
    """A player that does not follow from its seed."""

    count = 0

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        UnseededPlayer.count += 1
        moves = asks[0].legal_moves or []
        return [Reply(moves[UnseededPlayer.count % len(moves)])]


def test_unseeded_player_cannot_be_copied_during_a_match() -> None:
    env = TextGameEnv("connect_four", opponent=UnseededPlayer())
    copy.deepcopy(env).reset(seed=0)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(GymposiumError, match="random does not depend only on the seed"):
        copy.deepcopy(env)
