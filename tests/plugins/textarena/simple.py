"""Simple agents of TextArena: they pick an action out of the text."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import textarena as ta

from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS, Reader


class MovePicker(ta.Agent):  # type: ignore[misc]
    """Picks one of the legal moves that the last position of an observation lists."""

    def __init__(self, seed: str | int) -> None:
        self._rng = random.Random(seed)

    def __call__(self, observation: str) -> str:
        (*_, moves) = re.findall(r"Legal moves: (.*)\n", observation)
        return self._rng.choice(moves.split(", "))


class BracketPicker(ta.Agent):  # type: ignore[misc]
    """Picks one of the texts in brackets, in which TextArena's games show what can be done."""

    def __init__(self, seed: str | int) -> None:
        self._rng = random.Random(seed)

    def __call__(self, observation: str) -> str:
        return self._rng.choice(re.findall(r"\[[^\[\]\n]{1,20}\]", observation) or ["[0]"])


class TextPlayer:
    """A player of gymposium that reads text alone, as a language model does, and thinks before it answers."""

    name = "text"
    style = "full"
    reader: Reader = READERS["tags"]

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(f"<think>My secret.</think><move>{self._pick(ask)}</move>") for ask in asks]

    def _pick(self, ask: Ask) -> str:
        options = re.findall(r"\[[^\[\]\n]{1,20}\]", ask.observe().text) or ["[0]"]
        return options[int(ask.rng.random() * len(options))]


def play(env: Any, agents: dict[int, Callable[[str], str]], seed: int, num_players: int | None = None) -> Any:
    """The loop of TextArena's documentation. Returns rewards and infos."""
    env.reset(num_players=num_players or len(agents), seed=seed)
    done = False
    while not done:
        player_id, observation = env.get_observation()
        done, _ = env.step(action=agents[player_id](observation))
    return env.close()
