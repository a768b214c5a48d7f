"""A player's memory belongs to one seat of one match and ends with it."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from gymposium import load_game
from gymposium.envs.gym import TextGameEnv
from gymposium.games.protocol import Style
from gymposium.match import MatchJob, Schedule, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS


class WeakList(list[str]):
    """A list that can be looked after."""


class MemoryPlayer:
    """Plays what it has played least often, as far as it remembers, and fails at its second turn."""

    name, reader = "remembers", READERS["move"]

    def __init__(self) -> None:
        self.style: Style = "compact"
        self.seen: dict[tuple[str, int], list[int]] = {}
        self.kept: list[weakref.ref[WeakList]] = []

    def __reduce__(self) -> tuple[type[MemoryPlayer], tuple[()]]:
        return MemoryPlayer, ()

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        said = ask.memory.get("said")
        if said is None:
            said = ask.memory["said"] = WeakList()
            self.kept.append(weakref.ref(said))
        self.seen.setdefault((ask.key, ask.seat), []).append(len(said))
        counts = Counter(said)
        legal = ask.legal_moves or []
        # not from left to right: in connect four that would win at once
        rarest = min(legal, key=lambda move: (counts[move], legal.index(move) * 3 % 7))
        move = "nonsense" if ask.turn == 1 else rarest
        said.append(move)
        return Reply(move)


@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
def test_memory_belongs_to_one_seat_of_one_match(schedule: Schedule) -> None:
    player, policy = MemoryPlayer(), FailurePolicy.parse("retry(1)")
    for game in ("connect_four", "goofspiel(num_cards=5)"):
        jobs = [MatchJob(f"{game}-{n}", load_game(game), [player, player], n, on_illegal=policy) for n in range(6)]
        list(play(jobs, schedule=schedule))
    assert len(player.seen) == 24  # two games, six matches, two seats
    assert all(turns == list(range(len(turns))) for turns in player.seen.values())
    for thread in threading.enumerate():
        if thread.name == f"player {player.name}":  # a worker holds its last asks until it ends
            thread.join()
    gc.collect()
    assert [kept() for kept in player.kept] == [None] * 24


@pytest.mark.parametrize("way", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copied_player_keeps_its_memory(way: Callable[[Any], Any]) -> None:
    env = TextGameEnv("connect_four", opponent=MemoryPlayer(), seat=1, on_illegal="retry(1)")
    _, info = env.reset(seed=0)
    for column in (-1, -2, -1):
        *_, info = env.step(info["legal_moves"][column])
    twin, over = way(env), False
    while not over:
        move = info["legal_moves"][0]
        one, two = env.step(move), twin.step(move)
        assert str(one) == str(two)
        over, info = one[2], one[4]
    opening = [event.move for event in env.match.events if event.seat == 0][:4]
    assert len(set(opening)) > 1  # what it plays does depend on what it remembers
