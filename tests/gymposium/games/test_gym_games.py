"""Gymnasium's text environments as games, by id: playing, recording, replaying and refusals."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete, Text

from gymposium import load_game, make_player
from gymposium.envs.gym import TextGameEnv
from gymposium.envs.spaces import UnicodeText
from gymposium.errors import BadParameter, BadRecord, IllegalMove, NoSampler, UnknownName, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Game
from gymposium.games.registry import is_registered
from gymposium.match import EngineError, MatchJob, MatchResult, play
from gymposium.players.protocol import Ask, Reply
from gymposium.records import RecordWriter, verify_file
from gymposium.replies.reading import READERS


class Corridor(gymnasium.Env[str, Any]):
    """A walker on the squares 0 to size - 1 tries to reach the end. `wind` sometimes blows it back."""

    def __init__(self, size: int = 4, wind: float = 0.0, names: bool = True, prize: float = 1.0) -> None:
        self.observation_space = Text(200)
        self.action_space = Discrete(2, start=3)
        self._size, self._wind, self._prize = size, wind, prize
        if names:
            self.get_action_meanings = lambda: ["back", "forth"]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self._at = int(self.np_random.integers(self._size - 1))
        return self._told()

    def step(self, action: int) -> tuple[str, float, bool, bool, dict[str, Any]]:
        assert action in self.action_space
        blown = self.np_random.random() < self._wind
        self._at = max(self._at + (1 if action == 4 and not blown else -1), 0)
        there = self._at == self._size - 1
        told, info = self._told()
        return told, self._prize if there else 0.0, there, False, info

    def _told(self) -> tuple[str, dict[str, Any]]:
        return f"You are at {self._at} of {self._size}.", {"action_mask": np.array([self._at > 0, True])}


class Echo(gymnasium.Env[str, str]):
    """Free text: one point for repeating the word that is shown, in three tries."""

    observation_space = UnicodeText()
    action_space = UnicodeText()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self._word = "ab"[int(self.np_random.integers(2))] * 3
        return f"Say {self._word}!", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        right = action == self._word
        return f"You said {action}.", float(right), right, False, {}


class Restless(Corridor):
    """Draws chance that does not follow from its seed."""

    count = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        Restless.count += 1
        self._at = Restless.count % 2
        return self._told()


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    gymnasium.register("somebody/Corridor-v0", Corridor, max_episode_steps=30)
    gymnasium.register("Echo-v0", Echo)
    gymnasium.register("Restless-v0", Restless, max_episode_steps=30)
    yield
    for env_id in ("somebody/Corridor-v0", "Echo-v0", "Restless-v0"):
        del gymnasium.registry[env_id]


def played(game: Game, seeds: range, player: str = "random") -> list[MatchResult]:
    one = make_player(player)
    return list(play(MatchJob(f"m{seed}", game, [one], seed) for seed in seeds))


NAMES = [
    "gym:somebody/Corridor-v0",
    "gym:somebody/Corridor-v0(size=3,wind=0.5)",
    "gym:somebody/Corridor-v0(names=False,max_decisions=5)",
    "gym:TextTicTacToe-v0(max_decisions=9,min_return=-1)",
    "gym:TextGoofspiel-v0(num_cards=4,max_decisions=4,min_return=-1)",
]


@pytest.mark.parametrize("name", NAMES)
def test_matches_are_recorded_and_replay(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game(name)
    monkeypatch.setenv("GYMPOSIUM_ALLOW", game.name)  # a record may not pass keywords to an environment by itself
    with RecordWriter(tmp_path / "m.jsonl") as writer:
        for match in played(game, range(12)):
            writer.write(match)
            assert match.events[0].seat == CHANCE
            assert match.events[0].move.startswith("seed ")
            assert sum(event.seat == 0 for event in match.events) <= game.max_decisions
            again = game.load(match.events)
            assert again.events == match.events
            assert again.returns() == match.utilities
            assert again.to_move() == ()
    found = verify_file(tmp_path / "m.jsonl")
    assert (found.matches, found.problems) == (12, [])


def test_observations_and_rewards_come_from_the_environment() -> None:
    match = load_game("gym:somebody/Corridor-v0").new(5)
    env = gymnasium.make("somebody/Corridor-v0", disable_env_checker=True)
    shown, _ = env.reset(seed=int(match.events[0].move.removeprefix("seed ")))
    for move in ("forth", "forth", "forth"):
        assert match.observe(0).text == shown + "\n"
        shown, reward, over, _, _ = env.step(4)
        match.apply({0: move})
        assert match.returns() == (reward,)
        if over:
            break
    assert match.to_move() == ()
    assert match.legal_moves(0) == []
    with pytest.raises(WrongSeat):
        match.apply({0: "forth"})


def test_only_unmasked_actions_are_legal() -> None:
    game = load_game("gym:somebody/Corridor-v0")
    starts = [game.new(seed) for seed in range(20)]
    for match in starts:
        at_the_wall = "at 0" in match.observe(0).text
        assert match.legal_moves(0) == (["forth"] if at_the_wall else ["back", "forth"])
        assert match.legal_actions(0) == ([1] if at_the_wall else [0, 1])
    wall = next(match for match in starts if "at 0" in match.observe(0).text)
    before = list(wall.events)
    with pytest.raises(IllegalMove, match="Legal moves: forth"):
        wall.apply({0: "back"})
    assert wall.events == before
    assert "legal forth\n" in wall.observe(0, "compact").text


def test_unnamed_actions_are_numbers() -> None:
    game = load_game("gym:somebody/Corridor-v0", names=False)
    assert game.name == "gym:somebody/Corridor-v0(names=False)"
    assert load_game(game.name) is game
    assert set(game.new(0).legal_moves(0) or ()) <= {"3", "4"}


def test_wrapped_text_game_is_the_same_game() -> None:
    """Names, masks and rewards of a wrapped text game are those of the game itself."""
    game = load_game("gym:TextTicTacToe-v0(max_decisions=9,min_return=-1)")
    match, env = game.new(3), TextGameEnv("tic_tac_toe")
    _, info = env.reset(seed=int(match.events[0].move.removeprefix("seed ")))
    rng, total, over = random.Random(0), 0.0, False
    while not over:
        assert match.legal_moves(0) == info["legal_moves"]
        assert match.legal_actions(0) == np.flatnonzero(env.action_masks()).tolist()
        move = rng.choice(info["legal_moves"])
        _, reward, over, _, info = env.step(move)
        match.apply({0: move})
        total += reward
    assert match.to_move() == ()
    assert match.returns() == (total,)


def test_free_text_is_passed_on_unchanged() -> None:
    class TextPlayer:
        name, reader, style = "says", READERS["move"], "full"

        def act(self, asks: list[Ask]) -> list[Reply]:
            return [Reply("çé ∑!" if ask.turn == 0 else ask.observe().text[4:7]) for ask in asks]

    game = load_game("gym:Echo-v0(max_decisions=3)")
    assert (game.spec.free_text, game.num_actions) == (True, 0)
    (match,) = play([MatchJob("m", game, [TextPlayer()], 0)])  # type: ignore[list-item]
    assert next(event.move for event in match.events if event.seat == 0) == "çé ∑!"
    assert len([event for event in match.events if event.seat == 0]) == 3
    assert game.load(match.events).events == match.events


def test_gym_game_works_as_an_environment() -> None:
    env = TextGameEnv("gym:somebody/Corridor-v0", size=2)
    text, info = env.reset(seed=0)
    assert "You are at 0 of 2.\nLegal moves: forth\n" in text
    assert env.step("forth")[1:3] == (1.0, True)
    assert info["legal_moves"] == ["forth"]
    assert not is_registered(env.game.name)


def test_unseeded_environment_is_detected() -> None:
    game = load_game("gym:Restless-v0")
    events = list(game.new(0).events)
    with pytest.raises(BadRecord, match="does not depend only on its seed and the moves"):
        game.load(events)


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([], "Event 0 must be the environment.s seed"),
        ([Event(0, "forth")], "Event 0 must be the environment.s seed"),
        ([Event(CHANCE, "seed 1"), Event(CHANCE, "shown 000000000000")], "Event 1 is 'shown 000000000000'"),
    ],
)
def test_foreign_records_are_refused(events: list[Event], told: str) -> None:
    with pytest.raises(BadRecord, match=told):
        load_game("gym:somebody/Corridor-v0").load(events)


def test_illegal_recorded_moves_are_refused() -> None:
    game = load_game("gym:somebody/Corridor-v0(size=2)")
    events = list(game.new(0).events)
    with pytest.raises(BadRecord, match=r"Event 2: 'back' is not legal"):
        game.load([*events, Event(0, "back")])
    with pytest.raises(BadRecord, match=r"Event 2 \('forth'\) belongs to seat 1"):
        game.load([*events, Event(1, "forth")])


def test_sampling_worlds_needs_a_deterministic_environment() -> None:
    match = load_game("gym:somebody/Corridor-v0").new(0)
    for ask in (lambda: match.fork(random.Random(0)), lambda: match.resample(0, random.Random(0))):
        with pytest.raises(NoSampler, match="deterministic=True"):
            ask()
    open_match = load_game("gym:somebody/Corridor-v0(deterministic=True)").new(0)
    fork = open_match.fork(random.Random(0))
    fork.apply({0: "forth"})
    assert len(open_match.events) == 2
    assert fork.observe(0).text != open_match.observe(0).text


def test_return_outside_the_declared_range_is_an_error() -> None:
    with pytest.raises(BadParameter, match=r"ended with a return of 5, .* 0 to 1\. Set its parameters min_return"):
        played(load_game("gym:somebody/Corridor-v0(prize=5.0)"), range(3))
    game = load_game("gym:somebody/Corridor-v0(prize=5.0,max_return=5)")
    assert {match.returns for match in played(game, range(3))} <= {(5.0,), (0.0,)}


def test_environment_failure_carries_the_partial_match() -> None:
    game = load_game("gym:somebody/Corridor-v0(size=1)")
    with pytest.raises(EngineError, match="high <= 0") as caught:
        played(game, range(1))
    assert caught.value.played.events == []


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        ("gym:Corridr-v0", UnknownName, "gym:my_module:MyText-v0"),
        ("gym:no_such_module:Foo-v0", UnknownName, "No module named 'no_such_module'.*PYTHONPATH"),
        (
            "gym:FrozenLake-v1",
            BadParameter,
            r"has observations Discrete\(16\), but only text observations are supported",
        ),
        ("gym:Echo-v0", BadParameter, "has no limit on episode length. Add one, such as max_decisions=100"),
        ("gym:Echo-v0(max_decisions=0)", BadParameter, "max_decisions=0: must be a whole number, 1 or more"),
        ("gym:Echo-v0(max_decisions=many)", BadParameter, "max_decisions='many'"),
        ("gym:somebody/Corridor-v0(min_return=2)", BadParameter, "max_return=1.0: must be greater than min_return=2"),
        ("gym:somebody/Corridor-v0(max_return=no)", BadParameter, "max_return='no': must be a number"),
        ("gym:somebody/Corridor-v0(deterministic=1)", BadParameter, "deterministic=1: must be True or False"),
        ("gym:somebody/Corridor-v0(sizes=3)", BadParameter, "cannot be made: .*sizes"),
        ("gym:TextGoofspiel-v0(num_cards=99,max_decisions=9)", BadParameter, "num_cards=99: must be from 2 to 16"),
    ],
)
def test_unplayable_environments_are_refused_with_the_reason(name: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        load_game(name)


def test_parameters_must_be_plain_values() -> None:
    with pytest.raises(BadParameter, match=r"size=\[3\]: a parameter of gym:somebody/Corridor-v0 must be a number"):
        load_game("gym:somebody/Corridor-v0", size=[3])
