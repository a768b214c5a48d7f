"""A free-text game, written against the public API: guess a number."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import InvalidAction
from gymnasium.spaces import Dict
from gymnasium.utils.env_checker import check_env

from gymposium import GameSpec
from gymposium.envs.aec import TextGameAECEnv
from gymposium.envs.gym import TextGameEnv
from gymposium.envs.spaces import UnicodeText
from gymposium.errors import BadOption, WrongSeat
from gymposium.games.protocol import Event, Observation, Style
from gymposium.util.streams import stream

SPEC = GameSpec(
    name="guess", title="Guess", summary="Name the number.", entry_point="nowhere:Guess", seats=1, utility="score",
    free_text=True, chance=True,
)  # fmt: skip


class Guess:
    """A game of guessing a number from 0 to 9 with three guesses, each worth a point less."""

    spec, params, name, seats, max_decisions, num_actions = SPEC, {}, "guess", 1, 3, 0
    utility_range, tensor_shape = (-3.0, 0.0), None
    move_pattern: re.Pattern[str] | None = None

    def rules(self, seat: int, style: Style = "full") -> str:
        return "I think of a number from 0 to 9. You have three guesses.\n"

    def new(self, seed: int) -> GuessMatch:
        return self.load([Event(-1, str(int(stream(seed, "chance").random() * 10)))], seed)

    def load(self, events: Sequence[Event], seed: int | None = None) -> GuessMatch:
        return GuessMatch(self, list(events), seed)


class GuessMatch:
    def __init__(self, game: Guess, events: list[Event], seed: int | None) -> None:
        self.game, self.events, self.seed = game, events, seed

    @property
    def _guesses(self) -> list[str]:
        return [event.move for event in self.events[1:]]

    def to_move(self) -> tuple[int, ...]:
        return () if len(self._guesses) == 3 or self.events[0].move in self._guesses else (0,)

    def legal_moves(self, seat: int) -> None:
        return None

    def legal_actions(self, seat: int) -> list[int]:
        return []

    def observe(self, seat: int, style: Style = "full") -> Observation:
        return Observation(seat, f"Guesses so far: {', '.join(self._guesses) or 'none'}.\n", None)

    def view(self, seat: int) -> str:
        return " ".join(self._guesses)

    def tensor(self, seat: int) -> np.ndarray:
        raise ValueError("no tensor")

    def apply(self, moves: Mapping[int, str]) -> None:
        if set(moves) != set(self.to_move()):
            raise WrongSeat(moves, self.to_move())
        self.events.append(Event(0, moves[0]))

    def returns(self) -> tuple[float, ...]:
        return (-float(len([guess for guess in self._guesses if guess != self.events[0].move])),)

    def fork(self, rng: random.Random) -> GuessMatch:
        return GuessMatch(self.game, list(self.events), None)

    def resample(self, seat: int, rng: random.Random) -> GuessMatch:
        left = [str(n) for n in range(10) if str(n) not in self._guesses]
        return GuessMatch(self.game, [Event(-1, rng.choice(left)), *self.events[1:]], None)


def test_any_text_is_a_move_and_no_index_is() -> None:
    env = TextGameEnv(Guess())
    text, info = env.reset(seed=1)
    assert info == {"seat": 0}
    assert "Guesses so far: none." in text
    assert "Legal moves" not in text
    assert isinstance(env.action_space, UnicodeText)
    with pytest.raises(InvalidAction, match="must be text, not"):
        env.step(3)
    rewards, over = [], False
    for guess in ("twelve", "çé", "∑"):
        text, reward, over, _, info = env.step(guess)
        rewards.append(reward)
        assert info["reading"] == "move"
    assert (rewards, over, info["result"]) == ([-1.0, -1.0, -1.0], True, "score")
    assert [event.move for event in env.match.events[1:]] == ["twelve", "çé", "∑"]
    assert "Guesses so far: twelve, çé, ∑." in text


@pytest.mark.parametrize("on_illegal", ["forfeit", "random", "retry(1)"])
def test_empty_reply_is_unparsable(on_illegal: str) -> None:
    env = TextGameEnv(Guess(), on_illegal=on_illegal)
    env.reset(seed=1)
    _, reward, over, _, info = env.step("  ")
    assert info["reading"] == "unparsable"
    assert (reward, over) == ((0.0, False) if on_illegal == "retry(1)" else (-3.0, True))


@pytest.mark.parametrize("kind", ["text", "dict"])
def test_checker_passes(kind: str) -> None:
    gymnasium.register("guess-v0", lambda **keywords: TextGameEnv(Guess(), **keywords))
    try:
        env: Any = gymnasium.make("guess-v0", observation=kind)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env.unwrapped)
    finally:
        del gymnasium.registry["guess-v0"]


def test_free_text_has_no_mask_or_tensor() -> None:
    space = TextGameEnv(Guess(), observation="dict").observation_space
    assert isinstance(space, Dict)
    assert list(space) == ["text"]
    with pytest.raises(BadOption, match="observation='text'"):
        TextGameEnv(Guess(), observation="tensor")


def test_aec_takes_free_text_too() -> None:
    env = TextGameAECEnv(Guess())
    env.reset(seed=1)
    for guess in ("x", "y", "z"):
        assert env.last()[0] in env.observation_space("player_0")
        env.step(guess)
    assert env.terminations == {"player_0": True}
    assert env.played is not None
    assert env.played.returns == (-3.0,)
