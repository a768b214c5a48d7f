"""The Gymnasium environment: seeds, seats, opponents, actions, rewards, observations."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import pyspiel
import pytest
from gymnasium.error import InvalidAction, ResetNeeded
from hypothesis import given, settings, strategies as st

from gymposium import load_game, make_player
from gymposium.envs.gym import TextGameEnv
from gymposium.errors import BadOption
from gymposium.games.protocol import CHANCE, Style
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records import Record, find_first_difference
from gymposium.replies.reading import READERS, Reader

FEW = settings(max_examples=25)
SEEDS = st.integers(0, 2**31)
GAMES = ["tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "goofspiel(num_cards=4)", "openspiel:2048"]


class ScriptedPlayer:
    """A player with the same replies in every match."""

    reader: Reader = READERS["move"]
    style: Style = "compact"

    def __init__(self, name: str, replies: Sequence[str]) -> None:
        self.name, self.replies = name, replies
        self.seats: set[int] = set()

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        self.seats.update(ask.seat for ask in asks)
        return [Reply(self.replies[min(ask.turn, len(self.replies) - 1)]) for ask in asks]


def play(
    env: TextGameEnv, choose: random.Random, seed: int | None, other: TextGameEnv | None = None
) -> tuple[list[Any], list[float]]:
    """One episode of random legal moves: its observations and rewards. `other` is reset at every step."""
    seen: list[Any] = [env.reset(seed=seed)]
    rewards: list[float] = []
    while True:
        if other is not None:
            other.reset()
        observation, reward, over, truncated, info = env.step(choose.choice(seen[-1][1]["legal_moves"]))
        seen.append((observation, info))
        rewards.append(reward)
        assert truncated is False
        if over:
            return seen, rewards


# -- seeds


@pytest.mark.parametrize("name", GAMES[:-1])
def test_same_seed_and_moves_give_the_same_episode(name: str) -> None:
    one, two, other = (TextGameEnv(name, seat="random") for _ in range(3))
    for seed in range(5):
        first = play(one, random.Random(seed), seed)
        assert play(two, random.Random(seed), seed, other) == first
        assert one.match.events == two.match.events


@pytest.mark.parametrize("name", GAMES)
def test_observation_kind_does_not_change_the_match(name: str) -> None:
    played = []
    for kind in ("text", "dict", "tensor"):
        env = TextGameEnv(name, seat="random", observation=kind, opponent="random")
        env.reset(seed=12)
        over, choose = False, random.Random(5)
        while not over:
            over = env.step(choose.choice(np.flatnonzero(env.action_masks())))[2]
        played.append(list(env.match.events))
    assert played[0] == played[1] == played[2]


def test_unseeded_resets_follow_from_the_last_seed() -> None:
    one, two = TextGameEnv("goofspiel"), TextGameEnv("goofspiel")
    episodes = [[play(env, random.Random(0), seed) for seed in (3, None, None)] for env in (one, two)]
    assert episodes[0] == episodes[1]
    assert len({str(episode) for episode in episodes[0]}) == 3


def test_global_generators_are_untouched() -> None:
    ours, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    play(TextGameEnv("leduc_poker", seat="random", opponent="mcts-5", on_illegal="random"), random.Random(1), 1)
    assert random.getstate() == ours
    assert str(np.random.get_state()) == str(numpys)  # noqa: NPY002


# -- seats and opponents


def test_opponent_moves_first_when_the_learner_is_second() -> None:
    env = TextGameEnv("tic_tac_toe", seat=1)
    text, info = env.reset(seed=0)
    assert [event.seat for event in env.match.events] == [0]
    assert info["seat"] == 1
    assert len(info["legal_moves"]) == 8
    assert "You play o" in text


def test_swapping_the_seats_swaps_the_match() -> None:
    moves = ["b2", "a1", "c3", "a3", "c1", "a2", "b1", "b3", "c2"]
    mine, theirs = moves[0::2], moves[1::2]
    first = TextGameEnv("tic_tac_toe", opponent=ScriptedPlayer("theirs", theirs))
    first.reset(seed=0)
    for move in mine:
        _, mine_gets, over, _, info = first.step(move)
        if over:
            break
    second = TextGameEnv("tic_tac_toe", seat=1, opponent=ScriptedPlayer("mine", mine))
    second.reset(seed=0)
    for move in theirs:
        _, theirs_get, over, _, other_info = second.step(move)
        if over:
            break
    assert first.match.events == second.match.events
    assert (mine_gets, theirs_get) == (-1.0, 1.0)
    assert (info["result"], other_info["result"]) == ("loss", "win")


def test_random_seat_depends_only_on_the_seed() -> None:
    env = TextGameEnv("kuhn_poker", seat="random")
    seats = [env.reset(seed=seed)[1]["seat"] for seed in range(40)]
    assert set(seats) == {0, 1}
    assert seats == [env.reset(seed=seed)[1]["seat"] for seed in range(40)]


def test_missing_reply_names_the_player() -> None:
    class SilentPlayer(ScriptedPlayer):
        def act(self, asks: Sequence[Ask]) -> list[Reply]:
            return []

    env = TextGameEnv("tic_tac_toe", opponent=SilentPlayer("silent", []))
    env.reset(seed=0)
    with pytest.raises(TypeError, match="silent was asked for 1 reply but returned a list of 0"):
        env.step("a1")


def test_environment_of_a_loaded_game_can_be_remade() -> None:
    game = load_game("goofspiel(num_cards=3)")
    spec = gymnasium.make("TextGoofspiel-v0", game=game).spec
    assert spec is not None
    assert gymnasium.make(spec).unwrapped.game is game  # type: ignore[attr-defined]


def test_each_other_seat_has_its_opponent() -> None:
    one, two = ScriptedPlayer("one", ["Pass"]), ScriptedPlayer("two", ["Pass"])
    env = TextGameEnv("openspiel:kuhn_poker(players=3)", seat=1, opponent=[one, two])
    env.reset(seed=0)
    env.step("Pass")
    assert (one.seats, two.seats) == ({0}, {2})
    shared = ScriptedPlayer("both", ["Pass"])
    env = TextGameEnv("openspiel:kuhn_poker(players=3)", seat=1, opponent=shared)
    env.reset(seed=0)
    env.step("Pass")
    assert shared.seats == {0, 2}


def test_opponent_uses_the_drivers_random_stream() -> None:
    from gymposium.match import MatchJob, play as drive

    env = TextGameEnv("connect_four", opponent="mcts-20")
    play(env, random.Random(4), 11)
    mine = [event.move for event in env.match.events if event.seat == 0]
    players: list[Player] = [ScriptedPlayer("mine", mine), make_player("mcts-20")]
    (driven,) = drive([MatchJob("m", load_game("connect_four"), players, 11)])
    assert driven.events == env.match.events


# -- actions


@pytest.mark.parametrize("reply", ["move", "tags", "json"])
def test_text_and_index_are_equivalent(reply: str) -> None:
    texts, indices = TextGameEnv("goofspiel", reply=reply), TextGameEnv("goofspiel", reply=reply)
    assert texts.reset(seed=2) == indices.reset(seed=2)
    over, choose = False, random.Random(2)
    while not over:
        legal = np.flatnonzero(indices.action_masks())
        index = choose.randrange(len(legal))
        move = texts.action_masks(), load_game("goofspiel").new(0).legal_moves(0)[legal[index]]
        one = texts.step(READERS[reply].answer(move[1]))
        two = indices.step(legal[index])
        assert one == two
        over = one[2]
    assert texts.match.events == indices.match.events


def test_mask_and_legal_moves_agree() -> None:
    env = gymnasium.make("TextGoofspiel-v0", observation="dict", num_cards=5)
    observation, info = env.reset(seed=0)
    names = [f"bid {card}" for card in range(1, 6)]
    for _ in range(3):
        mask = env.unwrapped.action_masks()
        assert mask.dtype == np.int8
        assert np.array_equal(mask, observation["action_mask"])
        assert [names[i] for i in np.flatnonzero(mask)] == info["legal_moves"]
        observation, _, _, _, info = env.step(env.action_space.sample(mask))


@pytest.mark.parametrize("action", [9, -1, 1.5, None, b"b2"])
def test_invalid_action_is_a_caller_error(action: object) -> None:
    env = TextGameEnv("tic_tac_toe")
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="from 0 to 8"):
        env.step(action)
    assert env.match.events == []


def test_refuses_steps_before_reset_and_after_the_end() -> None:
    env = gymnasium.make("TextTicTacToe-v0")
    with pytest.raises(ResetNeeded):
        env.step("b2")
    with pytest.raises(ResetNeeded):
        env.unwrapped.step("b2")
    env.reset(seed=0)
    assert env.step("nonsense")[2]
    with pytest.raises(ResetNeeded, match="over"):
        env.step("b2")


# -- what failed replies cost


BAD = {"illegal": "a1", "unparsable": "I take the centre!"}


def begin(on_illegal: str) -> TextGameEnv:
    """Tic-tac-toe in which a1 and b1 are taken and the learner is to move."""
    env = TextGameEnv("tic_tac_toe", on_illegal=on_illegal, opponent=ScriptedPlayer("theirs", ["b1", "b2", "c3"]))
    env.reset(seed=0)
    env.step("a1")
    return env


@pytest.mark.parametrize("kind", BAD)
def test_forfeit_costs_the_minimum_utility(kind: str) -> None:
    text, reward, over, _, info = begin("forfeit").step(BAD[kind])
    assert (reward, over, info["reading"], info["result"]) == (-1.0, True, kind, "loss")
    assert info["legal_moves"] == []
    assert "you forfeit it. You lost. Your return is -1." in text


def test_illegal_index_is_illegal_too() -> None:
    _, reward, over, _, info = begin("forfeit").step(6)  # a1
    assert (reward, over, info["reading"]) == (-1.0, True, "illegal")


@pytest.mark.parametrize("kind", BAD)
def test_retry_gives_the_reason_at_no_cost(kind: str) -> None:
    env = begin("retry(2)")
    for _ in range(2):
        text, reward, over, _, info = env.step(BAD[kind])
        assert (reward, over, info["reading"]) == (0.0, False, kind)
        reason = {"illegal": "'a1' is not legal now.", "unparsable": "The reply could not be read."}[kind]
        assert text.startswith(reason)
        assert "Legal moves: a3, b3, c3, a2, b2, c2, c1" in text
    text, reward, over, _, info = env.step("a2")  # accepted: the count begins again
    assert (reward, over, info["reading"]) == (0.0, False, "move")
    assert "not legal" not in text
    assert [env.step(BAD[kind])[2] for _ in range(3)] == [False, False, True]
    assert env.played is not None
    assert env.played.returns == (-1.0, 1.0)


def test_penalties_are_charged_until_the_forfeit() -> None:
    env = begin("penalty(0.25,2)")
    rewards = [env.step("a1")[1], env.step("a2")[1], env.step("a1")[1]]
    assert rewards == [-0.25, 0.0, -0.25]
    assert env.step("a1")[1:3] == (-1.0, True)
    assert env.played is not None
    assert env.played.returns == (-1.5, 1.0)


def test_random_policy_substitutes_a_legal_move() -> None:
    env = begin("random")
    _, reward, over, _, info = env.step("a1")
    assert (reward, over, info["reading"]) == (0.0, False, "illegal")
    assert [event.seat for event in env.match.events] == [0, 1, 0, 1]


def test_opponents_are_under_the_same_policy() -> None:
    def after(on_illegal: str, *replies: str) -> tuple[Any, ...]:
        env = TextGameEnv("tic_tac_toe", on_illegal=on_illegal, opponent=ScriptedPlayer("theirs", replies))
        env.reset(seed=0)
        return env, *env.step("a1")

    env, text, reward, over, _, info = after("forfeit", "what?")
    assert (reward, over, info["result"], info["reading"]) == (1.0, True, "win", "move")
    assert env.played.ending.seat == 1
    assert "seat 1 gave no legal move" in text
    assert "what?" not in text
    assert after("retry(1)", "a1", "a1")[3]
    assert not after("retry(1)", "a1", "b1")[3]
    assert after("penalty(0.5,1)", "a1", "b1")[0].step("c9")[1] == -0.5
    assert not after("random", "a1")[3]


def test_opponent_failing_first_loses_in_the_first_step() -> None:
    env = TextGameEnv("tic_tac_toe", seat=1, opponent=ScriptedPlayer("theirs", ["?"]))
    text, info = env.reset(seed=0)
    assert "seat 0 gave no legal move" in text
    assert (info["legal_moves"], info["result"]) == ([], "win")
    assert not env.action_masks().any()
    _, reward, over, _, info = env.step(0)
    assert (reward, over, info["result"]) == (1.0, True, "win")
    assert "reading" not in info
    with pytest.raises(ResetNeeded):
        env.step(0)


# -- rewards


@FEW
@given(st.sampled_from(GAMES), SEEDS, st.sampled_from(["forfeit", "retry(1)", "penalty(0.3,2)", "random"]))
def test_rewards_sum_to_the_return_and_records_replay(name: str, seed: int, on_illegal: str) -> None:
    env = TextGameEnv(name, seat="random", on_illegal=on_illegal)
    _, info = env.reset(seed=seed)
    total, over, seat = 0.0, False, info["seat"]
    choose = random.Random(seed)
    env.action_space.seed(seed)
    while not over:
        spoil = choose.random() < 0.05
        legal = [*info["legal_moves"], env.action_space.sample(env.action_masks())]  # by text or by index
        action = "nonsense" if spoil else choose.choice(legal)
        _, reward, over, _, info = env.step(action)
        total += reward
        assert ("result" in info) == over
    played = env.played
    assert played is not None
    assert total == pytest.approx(played.returns[seat])
    assert info["result"] == played.result(seat)
    again = env.game.load(env.match.events, seed)
    if played.ending.seat is None:
        penalties = [played.penalties.get(s, 0.0) for s in range(env.game.seats)]
        assert [r - p for r, p in zip(again.returns(), penalties)] == pytest.approx(list(played.returns))
    if not name.startswith("openspiel:2048"):  # `verify` needs a name of the registry
        assert find_first_difference(Record.from_match(played)) is None


def test_rewards_arrive_when_earned() -> None:
    env = TextGameEnv("openspiel:2048")
    _, rewards = play(env, random.Random(0), 0)
    assert sum(reward > 0 for reward in rewards) > 10
    assert sum(rewards) == env.match.returns()[0]
    assert env.played is not None
    assert env.played.result(0) == "score"


@FEW
@given(SEEDS, st.integers(3, 6))
def test_joint_moves_match_the_engine(seed: int, cards: int) -> None:
    """Goofspiel equals pyspiel's with the same bids and prizes."""
    env = TextGameEnv(f"goofspiel(num_cards={cards})")
    _, rewards = play(env, random.Random(seed), seed)
    engine = pyspiel.load_game("goofspiel", {"num_cards": cards, "imp_info": True, "points_order": "random"})
    state, bids = engine.new_initial_state(), []
    for seat, move in env.match.events:
        if seat == CHANCE:
            outcome = next(a for a, _ in state.chance_outcomes() if state.action_to_string(-1, a) == move)
            state.apply_action(outcome)
            continue
        bids.append(int(move.removeprefix("bid ")) - 1)
        if len(bids) == 2:
            state.apply_actions(bids)
            bids = []
    assert state.is_terminal()
    assert sum(rewards) == state.returns()[0]
    assert env.match.view(0).startswith(state.information_state_string(0))  # followed by the ending


# -- what is shown


@pytest.mark.parametrize("name", [*GAMES[:-2], "goofspiel"])
def test_final_observation_asks_for_no_answer(name: str) -> None:
    env = TextGameEnv(name)
    seen, _ = play(env, random.Random(3), 3)
    text, info = seen[-1]
    assert "The match is over." in text
    assert "Answer with" not in text
    assert "Legal moves" not in text
    assert info["legal_moves"] == []
    assert "to move" not in text
    assert all("reading" not in seen[i][1] if i == 0 else seen[i][1]["reading"] == "move" for i in range(len(seen)))


def test_end_of_kuhn_poker_hides_the_other_card() -> None:
    """Deals in which the learner has the jack and folds to a bet end in the same way for every card of the other."""
    ends = set()
    for seed in range(40):
        env = TextGameEnv("kuhn_poker", opponent=ScriptedPlayer("bets", ["bet"]))
        text, _ = env.reset(seed=seed)
        if "Your card: J" in text:
            env.step("pass")
            ends.add((env.step("pass")[0], env.match.events[1].move))
    assert len({deal for _, deal in ends}) == 2
    assert len({text for text, _ in ends}) == 1


def test_ansi_returns_the_seats_view_and_human_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    env = gymnasium.make("TextKuhnPoker-v0", render_mode="ansi")
    env.reset(seed=1)
    shown = env.render()
    assert isinstance(shown, str)
    assert "Your card" in shown
    assert capsys.readouterr().out == ""
    env = gymnasium.make("TextKuhnPoker-v0", render_mode="human")
    env.reset(seed=1)
    assert capsys.readouterr().out == shown + "\n"
    env.step("pass")
    assert "You chose to pass" in capsys.readouterr().out


def test_rendering_without_a_mode_warns() -> None:
    env = TextGameEnv("tic_tac_toe")
    with pytest.raises(ResetNeeded):
        env.render()
    env.reset()
    with pytest.warns(UserWarning, match="render_mode='ansi'"):
        assert env.render() is None


@pytest.mark.parametrize(
    ("keyword", "value", "told"),
    [
        (
            "opponent",
            None,
            "None is not a player: it has no name. Use a player's name, such as 'random'",
        ),
        ("opponent", 3, "3 is not a player: it has no name. Use a player's name"),
        ("opponent", [None], "None is not a player: it has no name. Use a player's name"),
        ("on_illegal", None, "Unknown policy on_illegal=None. Use forfeit"),
        ("on_illegal", 3, "Unknown policy on_illegal=3. Use forfeit"),
        ("reply", None, "Unknown reply=None. Use 'move', 'tags', 'json'"),
        ("reply", 1, "Unknown reply=1. Use 'move'"),
        ("seat", True, "seat=True must be a seat from 0 to 1, or 'random'"),
        ("seat", 1.0, "seat=1.0 must be a seat"),
        ("seat", None, "seat=None must be a seat"),
    ],
)
def test_wrong_keyword_types_say_what_to_write(keyword: str, value: Any, told: str) -> None:
    with pytest.raises(BadOption, match=told):
        TextGameEnv("tic_tac_toe", **{keyword: value})


def test_seat_may_be_a_numpy_integer() -> None:
    env = TextGameEnv("tic_tac_toe", seat=np.int64(1))  # type: ignore[arg-type]
    env.reset(seed=0)
    assert env.seat == 1
