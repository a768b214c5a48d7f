"""The PettingZoo environments: PettingZoo's own tests, joint moves, failed replies, records."""

from __future__ import annotations

import random
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pyspiel
import pytest
from gymnasium.error import InvalidAction, ResetNeeded
from hypothesis import given, settings, strategies as st
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.test.state_test import state_test, test_state as run_state_test, test_state_space as check_state_space
from pettingzoo.utils.conversions import aec_to_parallel, parallel_to_aec

from gymposium import load_game
from gymposium.envs.aec import TextGameAECEnv
from gymposium.envs.gym import TextGameEnv
from gymposium.envs.parallel import TextGameParallelEnv
from gymposium.errors import BadOption
from gymposium.records import Record, find_first_difference

FEW = settings(max_examples=25)
SEEDS = st.integers(0, 2**31)
AEC = ["TextTicTacToe-v0", "TextConnectFour-v0", "TextKuhnPoker-v0", "TextLeducPoker-v0", "TextGoofspiel-v0"]
PARALLEL = ["TextGoofspiel-v0"]


# -- PettingZoo's own tests

# What `api_test` says of every environment with dict observations that is not PettingZoo's own.
of_dicts = pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy array",
    "ignore:Observation space for each agent probably should be",
)


@of_dicts
@pytest.mark.filterwarnings("ignore:The observation contains negative numbers")
@pytest.mark.parametrize("env_id", AEC)
def test_aec_api(env_id: str) -> None:
    api_test(pettingzoo.make("aec", env_id), num_cycles=60)


@pytest.mark.parametrize("env_id", AEC)
def test_aec_seeds(env_id: str) -> None:
    seed_test(lambda: pettingzoo.make("aec", env_id), num_cycles=40)


@pytest.mark.parametrize("env_id", PARALLEL)
def test_parallel_api_and_seeds(env_id: str) -> None:
    parallel_api_test(pettingzoo.make("parallel", env_id), num_cycles=60)
    parallel_seed_test(lambda: pettingzoo.make("parallel", env_id), num_cycles=40)


@pytest.mark.filterwarnings("ignore:State numpy array is all zeros")
@pytest.mark.parametrize("env_id", AEC)
def test_state_space_and_states(env_id: str) -> None:
    env = pettingzoo.make("aec", env_id)
    check_state_space(env)
    run_state_test(env, num_cycles=60)
    env.reset(seed=3)
    tensors = [env.observe(agent)["observation"] for agent in env.possible_agents]
    np.testing.assert_array_equal(env.state(), np.concatenate([tensor.ravel() for tensor in tensors]))


@pytest.mark.parametrize("env_id", PARALLEL)
def test_states_of_parallel_environments(env_id: str) -> None:
    parallel = pettingzoo.make("parallel", env_id)
    state_test(pettingzoo.make("aec", env_id), parallel, num_cycles=60)
    state_test(parallel_to_aec(parallel), parallel, num_cycles=60)


def test_game_without_tensors_has_no_state() -> None:
    env = pettingzoo.make("aec", "TextTrace-v0")
    env.reset(seed=0)
    assert not hasattr(env, "state_space")
    with pytest.raises(NotImplementedError, match="trace has no tensors"):
        env.state()


@of_dicts
@pytest.mark.parametrize("on_illegal", ["forfeit", "random"])
@pytest.mark.parametrize("game", ["goofspiel", "openspiel:matrix_rps", "openspiel:goofspiel(players=3)"])
def test_conversion_to_parallel_plays_the_same_match(game: str, on_illegal: str) -> None:
    converted = aec_to_parallel(TextGameAECEnv(game, on_illegal=on_illegal))
    own = TextGameParallelEnv(game, on_illegal=on_illegal)
    choose = random.Random(5)
    observations, infos = own.reset(seed=5)
    np.testing.assert_equal(converted.reset(seed=5), (observations, infos))
    while own.agents:
        masks = {agent: observations[agent]["action_mask"] for agent in own.agents}
        actions = {agent: choose.choice(np.flatnonzero(mask).tolist()) for agent, mask in masks.items()}
        observations, *rest = own.step(actions)
        np.testing.assert_equal(converted.step(actions), (observations, *rest))
        np.testing.assert_array_equal(converted.state(), own.state())
    assert converted.agents == []


@pytest.mark.parametrize(
    ("game", "on_illegal"),
    [("tic_tac_toe", "forfeit"), ("goofspiel", "retry(1)"), ("goofspiel", "penalty(0.5)")],
)
def test_turns_and_retries_are_not_parallelizable(game: str, on_illegal: str) -> None:
    with pytest.raises(AssertionError, match="is_parallelizable"):
        aec_to_parallel(TextGameAECEnv(game, on_illegal=on_illegal))


def test_sequential_game_has_no_parallel_environment() -> None:
    with pytest.raises(BadOption, match="'aec'"):
        TextGameParallelEnv("tic_tac_toe")


# -- observations for learners


@pytest.mark.filterwarnings("ignore:The observation contains negative numbers")
@pytest.mark.parametrize("env_id", AEC)
def test_aec_api_with_tensors(env_id: str) -> None:
    api_test(pettingzoo.make("aec", env_id, observation="tensor"), num_cycles=60)
    seed_test(lambda: pettingzoo.make("aec", env_id, observation="tensor"), num_cycles=40)


@pytest.mark.parametrize("env_id", PARALLEL)
def test_parallel_api_with_tensors(env_id: str) -> None:
    parallel_api_test(pettingzoo.make("parallel", env_id, observation="tensor"), num_cycles=60)


@pytest.mark.parametrize("observation", ["text", "tensor", "dict"])
@pytest.mark.parametrize(("kind", "env_id"), [("aec", "TextConnectFour-v0"), ("parallel", "TextGoofspiel-v0")])
def test_agents_observe_what_gymnasium_learners_observe(kind: Any, env_id: str, observation: str) -> None:
    env = pettingzoo.make(kind, env_id, observation=observation)
    env.reset(seed=4)
    alone = gymnasium.make(env_id, observation=observation)
    seen, _ = alone.reset(seed=4)
    assert env.observation_space("player_0") == alone.observation_space
    told = env.observe("player_0") if kind == "aec" else env.reset(seed=4)[0]["player_0"]
    np.testing.assert_equal(told, seen)
    if observation != "dict":
        infos = env.infos if kind == "aec" else env.reset(seed=4)[1]
        np.testing.assert_equal(infos["player_0"]["action_mask"], alone.unwrapped.action_masks())


def test_tensor_infos_keep_the_same_keys() -> None:
    """TorchRL's `PettingZooWrapper` makes an array of every value, and fails at keys that appear later."""
    env = pettingzoo.make("aec", "TextTicTacToe-v0", observation="tensor")
    env.reset(seed=0)
    for move in ("a1", "a2", "b1", "b2", "c1"):
        for seat, agent in enumerate(env.possible_agents):
            info = env.infos[agent]
            assert {*info} == {"seat", "action_mask"}
            assert info["seat"] == seat
            np.asarray(info["action_mask"], np.int8)
            assert info["action_mask"].any() == (agent == env.agent_selection)
        env.step(move)
    assert all({*info} == {"seat", "action_mask"} for info in env.infos.values())
    assert env.unwrapped.played is not None


def test_text_observations_come_with_full_infos() -> None:
    env = pettingzoo.make("aec", "TextTicTacToe-v0", observation="text")
    env.reset(seed=0)
    seen, _, _, _, info = env.last()
    assert "Legal moves: a3" in seen
    assert len(info["legal_moves"]) == info["action_mask"].sum() == 9
    free = pettingzoo.make("aec", "TextTrace-v0", observation="text")
    free.reset(seed=0)
    assert "action_mask" not in free.last()[4]
    with pytest.raises(BadOption, match="trace has no tensor observation"):
        pettingzoo.make("aec", "TextTrace-v0", observation="tensor")


# -- turns


def test_text_and_index_are_equivalent() -> None:
    env = pettingzoo.make("aec", "TextTicTacToe-v0")
    env.reset(seed=0)
    for action in ("b2", 0, np.int64(1)):
        env.step(action)
    assert [event.move for event in env.unwrapped.match.events] == ["b2", "a3", "b3"]
    assert env.agent_selection == "player_1"
    seen, _, _, _, info = env.last()
    assert "Legal moves: c3, a2" in seen["text"]
    assert info["legal_moves"] == ["c3", "a2", "c2", "a1", "b1", "c1"]
    assert np.flatnonzero(seen["action_mask"]).tolist() == [2, 3, 5, 6, 7, 8]
    waiting = env.observe("player_0")
    assert not waiting["action_mask"].any()
    assert "Answer with" not in waiting["text"]


def test_refuses_steps_before_reset_and_after_the_end() -> None:
    with pytest.raises(ResetNeeded):
        TextGameAECEnv("tic_tac_toe").step("b2")
    with pytest.raises(ResetNeeded):
        TextGameParallelEnv("goofspiel").step({})
    env = TextGameAECEnv("tic_tac_toe")
    env.reset(seed=0)
    env.step("nonsense")
    with pytest.raises(ValueError, match="None"):
        env.step("b2")
    env.step(None)
    env.step(None)
    assert env.agents == []
    with pytest.raises(ResetNeeded, match="over"):
        env.step(None)


def test_last_observation_tells_each_seat_the_result() -> None:
    env = TextGameAECEnv("tic_tac_toe")
    env.reset(seed=0)
    for move in ("a1", "b1", "a2", "b2", "a3"):
        env.step(move)
    assert "You won. Your return is 1." in env.observe("player_0")["text"]
    assert "You lost. Your return is -1." in env.observe("player_1")["text"]
    assert (env.infos["player_0"]["result"], env.infos["player_1"]["result"]) == ("win", "loss")
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}


def test_rendering_shows_the_seat_to_move(capsys: pytest.CaptureFixture[str]) -> None:
    env = TextGameAECEnv("kuhn_poker", render_mode="ansi")
    env.reset(seed=1)
    first = env.render()
    env.step("pass")
    assert first is not None
    assert "Your card" in first
    assert env.render() != first
    env = TextGameAECEnv("kuhn_poker", render_mode="human")
    env.reset(seed=1)
    assert first in capsys.readouterr().out


# -- simultaneous moves


def test_no_seat_sees_the_others_pending_move() -> None:
    one, two = TextGameAECEnv("goofspiel"), TextGameAECEnv("goofspiel")
    for env, bid in ((one, "bid 1"), (two, "bid 9")):
        env.reset(seed=4)
        env.step(bid)
        assert env.agent_selection == "player_1"
        assert all(event.seat == -1 for event in env.match.events)
    assert str(one.last()) == str(two.last())
    assert str(one.observe("player_0")) == str(two.observe("player_0"))


@FEW
@given(SEEDS, st.integers(2, 6), st.booleans())
def test_joint_moves_match_the_engine(seed: int, cards: int, parallel: bool) -> None:
    """Goofspiel equals pyspiel's with the same prizes and bids."""
    game = f"goofspiel(num_cards={cards})"
    env: Any = TextGameParallelEnv(game) if parallel else TextGameAECEnv(game)
    env.reset(seed=seed)
    choose = random.Random(seed)
    engine = pyspiel.load_game("goofspiel", {"num_cards": cards, "imp_info": True, "points_order": "random"})
    state, known = engine.new_initial_state(), 0
    totals = {"player_0": 0.0, "player_1": 0.0}

    def prizes() -> None:
        nonlocal known
        for event in env.match.events[known:]:
            if event.seat == -1:
                outcomes = [action for action, _ in state.chance_outcomes()]
                state.apply_action(next(a for a in outcomes if state.action_to_string(-1, a) == event.move))
        known = len(env.match.events)

    prizes()
    while not state.is_terminal():
        joint = [choose.choice(state.legal_actions(seat)) for seat in (0, 1)]
        state.apply_actions(joint)
        if parallel:
            rewards = env.step({"player_0": f"bid {joint[0] + 1}", "player_1": joint[1]})[1]
        else:
            env.step(joint[0])
            assert env.rewards == {"player_0": 0.0, "player_1": 0.0}
            env.step(f"bid {joint[1] + 1}")
            rewards = env.rewards
        totals = {agent: totals[agent] + rewards[agent] for agent in totals}
        prizes()
    assert env.played is not None
    assert list(totals.values()) == list(state.returns()) == list(env.played.returns)
    for seat in (0, 1):
        assert env.match.view(seat).startswith(state.information_state_string(seat))  # followed by the ending


def test_parallel_step_needs_every_seat() -> None:
    env = TextGameParallelEnv("goofspiel")
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="player_1"):
        env.step({"player_0": "bid 1"})
    assert env.render_mode is None


# -- what failed replies cost


@pytest.mark.parametrize(
    ("on_illegal", "rewards", "over"),
    [
        ("forfeit", {"player_0": 1.0, "player_1": -1.0}, True),
        ("retry(1)", {"player_0": 0.0, "player_1": 0.0}, False),
        ("penalty(0.5)", {"player_0": 0.0, "player_1": -0.5}, False),
        ("random", {"player_0": 0.0, "player_1": 0.0}, False),
    ],
)
def test_each_failure_policy_in_a_joint_move(on_illegal: str, rewards: dict[str, float], over: bool) -> None:
    aec = TextGameAECEnv("goofspiel", on_illegal=on_illegal)
    aec.reset(seed=3)
    aec.step("bid 5")
    aec.step("bid 99")
    parallel = TextGameParallelEnv("goofspiel", on_illegal=on_illegal)
    parallel.reset(seed=3)
    _, got, terminations, _, infos = parallel.step({"player_0": "bid 5", "player_1": "bid 99"})
    assert aec.rewards == got == rewards
    assert aec.terminations == terminations == {"player_0": over, "player_1": over}
    for env_infos in (aec.infos, infos):
        assert (env_infos["player_0"]["reading"], env_infos["player_1"]["reading"]) == ("move", "illegal")
    if on_illegal in ("retry(1)", "penalty(0.5)"):  # the other's bid stands, and only the seat that failed is asked
        assert aec.agent_selection == "player_1"
        assert "'bid 99' is not legal now." in aec.observe("player_1")["text"]
        assert not aec.observe("player_0")["action_mask"].any()
        aec.step("bid 6")
        parallel.step({"player_1": "bid 6"})
        bids = [event.move for event in aec.match.events if event.seat >= 0]
        assert bids == ["bid 5", "bid 6"]
        assert aec.match.events == parallel.match.events


@FEW
@given(
    st.sampled_from(["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)", "openspiel:kuhn_poker(players=3)"]),
    SEEDS,
    st.sampled_from(["forfeit", "retry(1)", "penalty(0.3,2)", "random"]),
)
def test_rewards_sum_to_returns_and_records_replay(name: str, seed: int, on_illegal: str) -> None:
    env = TextGameAECEnv(name, on_illegal=on_illegal)
    env.reset(seed=seed)
    choose = random.Random(seed)
    totals = dict.fromkeys(env.agents, 0.0)
    for agent in env.agent_iter():
        seen, reward, over, truncated, _ = env.last()
        totals[agent] += reward
        assert truncated is False
        if over:
            env.step(None)
        else:
            legal = np.flatnonzero(seen["action_mask"]).tolist()
            env.step("nonsense" if choose.random() < 0.05 else choose.choice(legal))
    assert env.played is not None
    assert list(totals.values()) == pytest.approx(list(env.played.returns))
    assert find_first_difference(Record.from_match(env.played)) is None


def test_gymnasium_and_pettingzoo_play_the_same_match() -> None:
    """One seed and one list of moves give the same texts, masks and rewards in both environments."""
    gym = TextGameEnv("leduc_poker", observation="dict", seat=0)
    seen, _ = gym.reset(seed=9)
    texts, rewards, over = [seen["text"]], 0.0, False
    while not over:
        seen, reward, over, _, _ = gym.step("call")
        texts.append(seen["text"])
        rewards += reward
    env = TextGameAECEnv("leduc_poker")
    env.reset(seed=9)
    mine = []
    for _, move in [event for event in gym.match.events if event.seat >= 0]:
        if env.agent_selection == "player_0":
            mine.append(env.observe("player_0")["text"])
        env.step(move)
    assert [*mine, env.observe("player_0")["text"]] == texts
    assert env.rewards["player_0"] == rewards
    assert gymnasium.spec("TextLeducPoker-v0").kwargs["game"] == load_game("leduc_poker").name
