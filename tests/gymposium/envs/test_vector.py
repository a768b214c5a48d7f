"""The vector environment matches single environments in all autoreset modes, and batches asks."""

from __future__ import annotations

import pickle
import random
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from gymposium.envs.gym import TextGameEnv
from gymposium.envs.vector import TextGameVectorEnv
from gymposium.errors import BadOption, BadParameter
from gymposium.games.protocol import Event
from gymposium.match import EngineError
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer
from gymposium.records import Record, find_first_difference

KINDS = ("text", "dict", "tensor")
MODES = tuple(AutoresetMode)


def plain(value: Any) -> Any:
    """Arrays as lists, so that observations and infos can be compared."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return plain(value.tolist()) if isinstance(value, np.ndarray) else value


def events(env: TextGameVectorEnv, i: int) -> list[Event]:
    match = env.matches[i]
    assert match is not None
    return match.events


def pick(rng: random.Random, info: dict[str, Any], i: int) -> Any:
    """A legal move as text, sometimes nonsense; any text if the match is over."""
    legal = info["legal_moves"][i]
    return rng.choice(legal) if legal and rng.random() > 0.05 else "nonsense"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=3)"])
def test_matches_single_environments(game: str, kind: str) -> None:
    """Text actions with `Disabled`: each place equals a single environment with its own seed, reset at the end."""
    n, keywords = 5, {"seat": "random", "observation": kind, "on_illegal": "retry(1)"}
    many = TextGameVectorEnv(game, num_envs=n, autoreset_mode="Disabled", **keywords)
    singles = [TextGameEnv(game, **keywords) for _ in range(n)]
    _, infos = many.reset(seed=7)
    told = [single.reset(seed=7 + i) for i, single in enumerate(singles)]
    rng = random.Random(game + kind)
    for _ in range(25):
        assert plain(many.action_masks()) == [plain(single.action_masks()) for single in singles]
        actions = [pick(rng, infos, i) for i in range(n)]
        seen, rewards, over, truncated, infos = many.step(actions)
        told = [single.step(action) for single, action in zip(singles, actions, strict=True)]
        for i, (one_seen, reward, one_over, one_truncated, info) in enumerate(told):
            mine = {k: part[i] for k, part in seen.items()} if kind == "dict" else seen[i]
            assert plain(mine) == plain(one_seen)
            assert (rewards[i], over[i], truncated[i]) == (reward, one_over, one_truncated)
            assert {key: infos[key][i] for key in info} == info
            assert all(infos[f"_{key}"][i] == (key in info) for key in infos if not key.startswith("_"))
            assert events(many, i) == singles[i].match.events
        assert [played.returns for played in many.ended] == [one.played.returns for one in singles if one.played]
        if over.any():
            _, begun = many.reset(options={"reset_mask": over})
            again = [single.reset()[1] if over[i] else None for i, single in enumerate(singles)]
            for i, info in enumerate(again):
                assert begun["_legal_moves"][i] == (info is not None)
                if info is not None:
                    assert begun["legal_moves"][i] == info["legal_moves"]
                    infos["legal_moves"][i] = info["legal_moves"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_matches_gymnasiums_vector_environment(kind: str, mode: AutoresetMode) -> None:
    """Indices in all modes: everything equals Gymnasium's own vector environment, including the form of infos."""
    n = 4
    keywords = {"num_envs": n, "observation": kind, "seat": "random", "num_cards": 3}
    ours = gymnasium.make_vec("TextGoofspiel-v0", autoreset_mode=mode, **keywords)
    theirs = gymnasium.make_vec(
        "TextGoofspiel-v0", vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **keywords
    )
    assert isinstance(ours, TextGameVectorEnv)
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    assert ours.metadata == theirs.metadata
    one, two = ours.reset(seed=11), theirs.reset(seed=11)
    assert plain(one) == plain(two)
    for _ in range(12):
        masks = ours.action_masks()
        actions = np.array([np.flatnonzero(mask)[-1] if mask.any() else 0 for mask in masks])
        one, two = ours.step(actions), theirs.step(actions)
        assert one[0] in ours.observation_space
        assert plain(one) == plain(two)
        assert [part.dtype for part in one[1:4]] == [part.dtype for part in two[1:4]]
        over = one[2] | one[3]
        if mode is AutoresetMode.DISABLED and over.any():
            assert plain(ours.reset(options={"reset_mask": over})) == plain(
                theirs.reset(options={"reset_mask": over.copy()})
            )


@pytest.mark.parametrize("mode", MODES)
def test_long_matches_are_truncated_as_by_gymnasium(mode: AutoresetMode) -> None:
    """After three steps no match of Connect Four is over; of tic-tac-toe some are, at the last step."""
    for env_id, steps in (("TextConnectFour-v0", 3), ("TextTicTacToe-v0", 3)):
        ours = gymnasium.make_vec(env_id, num_envs=6, autoreset_mode=mode, max_episode_steps=steps)
        theirs = gymnasium.make_vec(
            env_id,
            num_envs=6,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": mode},
            max_episode_steps=steps,
        )
        assert plain(ours.reset(seed=2)) == plain(theirs.reset(seed=2))
        truncations = 0
        for _ in range(12):
            masks = ours.unwrapped.action_masks()  # type: ignore[attr-defined]
            actions = np.array([np.flatnonzero(mask)[0] if mask.any() else 0 for mask in masks])
            one, two = ours.step(actions), theirs.step(actions)
            assert plain(one) == plain(two)
            over = one[2] | one[3]
            truncations += one[3].sum()
            if mode is AutoresetMode.DISABLED and over.any():
                again = [env.reset(options={"reset_mask": over.copy()}) for env in (ours, theirs)]
                assert plain(again[0]) == plain(again[1])
        assert truncations > 0


def test_text_spaces_are_one_object() -> None:
    space: Any = TextGameVectorEnv("tic_tac_toe", num_envs=256).observation_space
    assert len(space) == 256
    assert len({id(part) for part in space}) == 1
    assert len(pickle.dumps(space)) < 20_000
    space.seed(3)
    samples = space.sample()
    assert samples in space
    assert len(set(samples)) > 200


class CountingPlayer(RandomPlayer):
    """The random player, with the number of asks in each call."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        self.calls.append(len(asks))
        return super().act(asks)


@pytest.mark.parametrize("seat", [0, 1])
def test_opponents_are_asked_for_all_matches_in_one_call(seat: int) -> None:
    opponent = CountingPlayer()
    env = TextGameVectorEnv("connect_four", num_envs=32, opponent=opponent, seat=seat)
    env.reset(seed=0)
    env.step([3] * 32)
    env.step([2] * 32)
    assert opponent.calls == [32] * (2 + seat)


@pytest.mark.parametrize("mode", MODES)
def test_episode_statistics_match_the_matches(mode: AutoresetMode) -> None:
    env = RecordEpisodeStatistics(gymnasium.make_vec("TextTicTacToe-v0", num_envs=8, autoreset_mode=mode))
    env.reset(seed=1)
    episodes = 0
    for _ in range(40):
        masks = env.unwrapped.action_masks()  # type: ignore[attr-defined]
        _, _, over, _, infos = env.step([int(np.flatnonzero(mask)[0]) if mask.any() else 0 for mask in masks])
        ended = env.unwrapped.ended  # type: ignore[attr-defined]
        assert len(ended) == over.sum()
        if over.any():
            assert infos["episode"]["r"][over].tolist() == [played.returns[0] for played in ended]
            moves = [sum(event.seat == 0 for event in played.events) for played in ended]
            assert infos["episode"]["l"][over].tolist() == moves
            assert all(find_first_difference(Record.from_match(played)) is None for played in ended)
            episodes += len(ended)
            if mode is AutoresetMode.DISABLED:
                env.reset(options={"reset_mask": over})
    assert episodes > 40


# -- one engine that fails


class FailingGame:
    """A game whose engine fails in the method `where` of the match of one seed."""

    def __init__(self, game: Any, seed: int, where: str) -> None:
        self._game, self._seed, self._where = game, seed, where

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def __deepcopy__(self, memo: Any) -> FailingGame:
        return self

    def new(self, seed: int) -> Any:
        if seed == self._seed and self._where == "new":
            raise RuntimeError("no cards left")
        match = self._game.new(seed)
        return FailingMatch(match, self._where) if seed == self._seed else match


class FailingMatch:
    def __init__(self, match: Any, where: str) -> None:
        self._match, self._where = match, where

    def __getattr__(self, name: str) -> Any:
        if name == self._where and len(self._match.events) >= 2:
            raise RuntimeError(f"{name} is broken")
        return getattr(self._match, name)


@pytest.fixture(scope="module")
def tic_tac_toe() -> Any:
    from gymposium import load_game

    return load_game("tic_tac_toe")


@pytest.mark.parametrize("where", ["new", "apply", "legal_moves", "observe", "returns", "tensor"])
@pytest.mark.parametrize("mode", MODES)
def test_engine_failure_leaves_other_matches_running(tic_tac_toe: Any, where: str, mode: AutoresetMode) -> None:
    n, broken = 3, 1
    keywords = {"observation": "dict", "opponent": "mcts-2" if where == "observe" else "random"}
    env = TextGameVectorEnv(
        FailingGame(tic_tac_toe, 21, where),
        num_envs=n,
        autoreset_mode=mode,
        **keywords,  # type: ignore[arg-type]
    )
    whole = TextGameVectorEnv(tic_tac_toe, num_envs=n, autoreset_mode=mode, **keywords)
    env.reset(seed=20)
    whole.reset(seed=20)
    truncated = np.zeros(n, np.bool_)
    for _ in range(3):
        legal = [np.flatnonzero(mask) for mask in whole.action_masks()]
        actions = [int(choice[0]) if len(choice) else 0 for choice in legal]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seen, rewards, over, truncated, infos = env.step(actions)
        other = whole.step(actions)
        for i in (0, 2):  # they are not affected
            if where == "legal_moves":  # the opponent met the failure, and drew again for the others
                assert not truncated[i]
                continue
            assert events(env, i) == events(whole, i)
            assert (rewards[i], over[i], truncated[i]) == (other[1][i], other[2][i], False)
            assert seen["text"][i] == other[0]["text"][i]
        if truncated[broken]:
            break
    assert truncated.tolist() == [False, True, False]
    assert (rewards[broken], over[broken]) == (0.0, False)
    (warning,) = caught
    assert "Match 1 of 3 broke off; the others continue. The engine of tic_tac_toe failed" in str(warning.message)
    (played,) = env.ended
    assert played.ending.broke_off
    assert played.ending.detail.startswith("RuntimeError")
    assert len(played.events) == (0 if where == "new" else 2 if where == "apply" else len(played.events))
    last = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
    assert last["error"][broken] == "The match broke off: the engine of tic_tac_toe failed."
    assert last["_error"].tolist() == [False, True, False]
    assert last["legal_moves"][broken] == []
    if mode is AutoresetMode.DISABLED:
        with pytest.raises(ResetNeeded, match=r"\[1\] are over"):
            env.step(actions)
        _, begun = env.reset(options={"reset_mask": truncated})
    elif mode is AutoresetMode.NEXT_STEP:
        begun = env.step(actions)[4]
    else:
        begun = infos
    assert len(begun["legal_moves"][broken]) == 9
    assert not begun.get("_error", np.zeros(n))[broken]


@pytest.mark.parametrize("where", ["new", "apply", "observe"])
def test_single_environment_failure_carries_the_partial_match(tic_tac_toe: Any, where: str) -> None:
    env = TextGameEnv(FailingGame(tic_tac_toe, 4, where))  # type: ignore[arg-type]
    with pytest.raises(EngineError, match=r"tic_tac_toe .*seed 4") as caught:  # noqa: PT012 - by one or another
        env.reset(seed=4)
        env.step("b2")
        env.step(env.match._match.legal_moves(0)[0])  # type: ignore[attr-defined]
    assert env.played is caught.value.played
    assert env.played.job.seed == 4
    with pytest.raises(ResetNeeded):
        env.step("a1")
    env.reset(seed=5)
    assert not env.step("b2")[2]


class RaisingPlayer(RandomPlayer):
    """The random player, which has no connection at its first call."""

    def __init__(self) -> None:
        self.connected = False

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        if not self.connected:
            self.connected = True
            raise OSError("no connection")
        return super().act(asks)


@pytest.mark.parametrize("many", [False, True])
def test_player_exception_is_not_an_engine_error(many: bool) -> None:
    keywords: dict[str, Any] = {"opponent": RaisingPlayer()}
    env: Any = (
        TextGameVectorEnv("tic_tac_toe", num_envs=2, **keywords) if many else TextGameEnv("tic_tac_toe", **keywords)
    )
    action = [0, 0] if many else 0
    env.reset(seed=0)
    with pytest.raises(OSError, match="no connection"):
        env.step(action)
    with pytest.raises(ResetNeeded, match="A player failed"):
        env.step(action)
    env.reset(seed=0)
    assert not np.any(env.step(action)[2])


# -- what is refused


def test_misuse_is_refused_before_any_play() -> None:
    env = TextGameVectorEnv("tic_tac_toe", num_envs=2, autoreset_mode="Disabled")
    with pytest.raises(ResetNeeded):
        env.step([0, 0])
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="Got 3 actions for 2"):
        env.step([0, 0, 0])
    for no_sequence in (0, "ab"):
        with pytest.raises(InvalidAction, match="must be a sequence of 2 actions"):
            env.step(no_sequence)
    with pytest.raises(InvalidAction, match="from 0 to 8"):
        env.step([0, 9])
    assert [events(env, i) for i in range(2)] == [[], []]
    env.close()
    for use in (env.reset, env.render, lambda: env.step([0, 0])):
        with pytest.raises(ClosedEnvironmentError):
            use()


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"autoreset_mode": "Next"}, "'NextStep', 'SameStep', 'Disabled'"),
        ({"num_envs": 0}, "num_envs=0 must be an integer, 1 or more"),
        ({"num_envs": "2"}, "num_envs='2' must be an integer"),
        ({"max_episode_steps": 0}, "max_episode_steps=0 must be an integer, 1 or more"),
        ({"seat": 2}, "seat=2 must be a seat from 0 to 1"),
    ],
)
def test_invalid_keyword_error_says_what_is_valid(keywords: dict[str, Any], told: str) -> None:
    with pytest.raises(BadOption, match=told):
        gymnasium.make_vec("TextTicTacToe-v0", **{"num_envs": 2, **keywords})


def test_misspelled_keyword_suggests_the_nearest() -> None:
    with pytest.raises(BadParameter, match="autoreset_mode"):
        gymnasium.make_vec("TextTicTacToe-v0", num_envs=2, autoreset="NextStep")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"reset_masks": None}, "'reset_mask'"),
        ({"reset_mask": [True, False]}, "a NumPy array of 2 bools"),
        ({"reset_mask": np.zeros(2, np.bool_)}, "at least one"),
        ({"seat": 2}, "from 0 to 1"),
    ],
)
def test_invalid_reset_option_error_says_what_is_valid(options: dict[str, Any], told: str) -> None:
    env = TextGameVectorEnv("tic_tac_toe", num_envs=2)
    env.reset(seed=0)
    with pytest.raises(BadOption, match=told):
        env.reset(options=options)


def test_seed_lists_must_fit_the_matches() -> None:
    env = TextGameVectorEnv("kuhn_poker", num_envs=2)
    with pytest.raises(BadOption, match="got 3 seeds for 2"):
        env.reset(seed=[1, 2, 3])
    env.reset(seed=[5, 5])
    assert events(env, 0) == events(env, 1)
