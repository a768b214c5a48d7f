"""Games of gymposium played through TextArena's interface and loop."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gymposium import Table, load_game
from gymposium.errors import BadOption, UnexpectedReply, UnknownName, WrongType
from gymposium.games.protocol import Game
from gymposium.players.protocol import Ask, Reply
from gymposium.records import Record, RecordWriter, verify_file
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks.tools import format_calls, list_tools
from gymposium.tasks.tools.random_calls import make_random_call

ta = pytest.importorskip("textarena", reason="textarena is not installed: tox run -e textarena")

from gymposium_textarena import GymposiumEnv, register_games  # noqa: E402

from .simple import MovePicker, play  # noqa: E402

GAMES = (
    "tic_tac_toe",
    "connect_four",
    "breakthrough",
    "phantom_ttt",
    "kuhn_poker",
    "leduc_poker",
    "goofspiel(num_cards=4)",
    "liars_dice",
    "backgammon",
    "oware",
    "bargaining",
    "hearts",
    "hanabi",
    "blackjack",
    "coin_game",
)
"""Boards, cards and dice; hidden and open; one, two and four seats; rivals and partners; moves in turn and at once."""


def make_agents(game: Game, seed: int) -> dict[int, MovePicker]:
    return {seat: MovePicker(f"{seed}/{seat}") for seat in range(game.seats)}


def play_locally(name: str, seed: int) -> Record:
    """The same match, without TextArena."""
    game = load_game(name)
    agents = make_agents(game, seed)
    table = Table(game, seats=range(game.seats), opponents=[], seed=seed, on_illegal="retry(1)", name="textarena")
    while table.asked:
        asked = table.asked[0]
        table.answer(asked.seat, agents[asked.seat](asked.text))
    return table.record()


@pytest.mark.parametrize("name", GAMES)
def test_matches_equal_local_play_and_records_verify(name: str, tmp_path: Path) -> None:
    [env_id] = register_games(name)
    game = load_game(name)
    with RecordWriter(tmp_path / "matches.jsonl") as writer:
        for seed in range(10):
            env = ta.make(env_id)
            rewards, infos = play(env, make_agents(game, seed), seed)
            record = env.record()
            assert replace(record, id="") == replace(play_locally(name, seed), id="")
            assert record.ending.kind == "over"
            assert rewards.keys() == infos.keys() == set(range(game.seats))
            assert [infos[seat]["return"] for seat in range(game.seats)] == record.returns
            moves = [turn["seat"] for turn in record.turns]
            assert all(infos[seat]["turn_count"] == moves.count(seat) for seat in range(game.seats))
            if game.seats == 2 and game.spec.utility != "cooperative":
                assert [rewards[seat] for seat in (0, 1)] == [
                    {"win": 1, "draw": 0, "loss": -1}[result] for result in record.results
                ]
            writer.write(env.table.played)
    verified = verify_file(tmp_path / "matches.jsonl")
    assert (verified.matches, verified.problems) == (10, [])


def test_rewards_use_textarenas_scale() -> None:
    for seed in range(5):
        hearts, _ = play(GymposiumRaw("hearts"), make_agents(load_game("hearts"), seed), seed)
        assert sum(hearts.values()) == pytest.approx(0.0)
        assert -1.0 <= min(hearts.values()) < 0.0 < max(hearts.values()) <= 1.0
        env = GymposiumRaw("blackjack")
        alone, infos = play(env, make_agents(load_game("blackjack"), seed), seed)
        assert alone[0] == (infos[0]["return"] + 1.0) / 2.0


def GymposiumRaw(name: str) -> Any:  # noqa: N802
    """The environment with the wrapper that shows the whole history."""
    return ta.wrappers.LLMObservationWrapper(GymposiumEnv(name))


def test_first_message_has_rules_and_turns_have_positions() -> None:
    [env_id] = register_games("kuhn_poker")
    env = ta.make(f"{env_id}-raw")
    env.reset(num_players=2, seed=1)
    table = Table("kuhn_poker", seats=[0, 1], opponents=[], seed=1)
    seat, messages = env.get_observation()
    kinds = [kind for _, _, kind in messages]
    assert kinds == [ta.ObservationType.PROMPT, ta.ObservationType.GAME_BOARD]
    assert {sender for sender, _, _ in messages} == {ta.GAME_ID}
    assert "".join(text for _, text, _ in messages) == table.asked[0].text
    assert messages[0][1] == load_game("kuhn_poker").rules(0) + "\n"
    assert env.get_observation() == (seat, [])


def test_replies_are_shown_only_to_their_player() -> None:
    [env_id] = register_games("kuhn_poker")
    env = ta.make(f"{env_id}-raw", reply="tags")
    env.reset(num_players=2, seed=1)
    seen: dict[int, list[Any]] = {0: [], 1: []}
    for action in ("<think>I bluff.</think><move>pass</move>", "<move>bet</move>", "<move>bet</move>"):
        seat, messages = env.get_observation()
        seen[seat] += messages
        env.step(action)
    own = (0, "<think>I bluff.</think><move>pass</move>", ta.ObservationType.PLAYER_ACTION)
    assert own in seen[0]
    assert not any("I bluff" in text for _, text, _ in seen[1])


class ToolCallingAgent(ta.Agent):  # type: ignore[misc]
    """Calls a random tool, and keeps what it reads."""

    def __init__(self, name: str, seed: int) -> None:
        self._tools = list_tools(load_game(name))
        self._rng = random.Random(seed)
        self.read: list[str] = []

    def __call__(self, observation: str) -> str:
        self.read.append(observation)
        return format_calls([make_random_call(self._tools, observation[-500:], self._rng)])


@pytest.mark.parametrize("name", ["tables", "mail"])
def test_tool_worlds_show_the_full_history(name: str, tmp_path: Path) -> None:
    [env_id] = register_games(name)
    with RecordWriter(tmp_path / "matches.jsonl") as writer:
        for seed in range(5):
            env, agent = ta.make(env_id), ToolCallingAgent(name, seed)
            rewards, _ = play(env, {0: agent}, seed)
            assert 0.0 <= rewards[0] <= 1.0
            assert len(agent.read) == len(env.record().turns)
            assert all(after.startswith(before) for before, after in pairwise(agent.read))
            writer.write(env.table.played)
    verified = verify_file(tmp_path / "matches.jsonl")
    assert (verified.matches, verified.problems) == (5, [])


def test_failed_replies_are_retried_then_forfeit() -> None:
    [env_id] = register_games("tic_tac_toe")
    env = ta.make(env_id)
    env.reset(num_players=2, seed=0)
    env.get_observation()
    assert env.step("The corner, since my opponent is weak.") == (False, {})
    seat, observation = env.get_observation()
    assert seat == 0
    assert "The reply could not be read. Legal moves: a3, " in observation
    env.step("a1")
    assert env.get_observation()[0] == 1
    env.step("a1")
    seat, observation = env.get_observation()
    assert seat == 1
    assert "'a1' is not legal now" in observation
    assert "weak" not in observation
    assert env.step("a1")[0]
    rewards, infos = env.close()
    assert rewards == {0: 1.0, 1: -1.0}
    assert [infos[seat]["invalid_move"] for seat in (0, 1)] == [False, True]
    assert [infos[seat]["turn_count"] for seat in (0, 1)] == [1, 0]
    assert infos[0]["reason"] == "Player 1 gave no legal move and forfeits."


def test_simultaneous_moves_are_hidden_until_all_are_made() -> None:
    env = GymposiumRaw("goofspiel(num_cards=3)")
    env.reset(num_players=2, seed=0)
    assert env.get_observation()[0] == 0
    env.step("bid 3")
    seat, observation = env.get_observation()
    assert seat == 1
    assert "bid 3" not in observation.replace("bid 1, bid 2, bid 3", "")


def test_gymposium_players_reply_automatically() -> None:
    [env_id] = register_games("connect_four")
    for seed in range(3):
        env = ta.make(env_id, players={1: "mcts-10"})
        rewards, infos = play(env, {0: MovePicker(seed)}, seed, num_players=2)
        agent = MovePicker(seed)
        table = Table("connect_four", opponents="mcts-10", seed=seed, on_illegal="retry(1)", name="textarena")
        while table.asked:
            table.answer(0, agent(table.asked[0].text))
        assert replace(env.record(), id="") == replace(table.record(), id="")
        assert env.record().players == ["textarena", "mcts-10"]
        assert set(rewards) == set(infos) == {0, 1}


class RubbishPlayer:
    """A player that gives no move."""

    name = "rubbish"
    style = "compact"
    reader: Reader = READERS["move"]

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply("what?") for _ in asks]


def test_match_over_at_the_start_ends_at_the_first_step() -> None:
    [env_id] = register_games("tic_tac_toe")
    env = ta.make(env_id, players={0: RubbishPlayer()}, on_illegal="forfeit")
    env.reset(num_players=2, seed=0)
    seat, observation = env.get_observation()
    assert seat == 1
    assert observation.endswith("Player 0 gave no legal move and forfeits.")
    assert env.step("b2") == (True, {})
    assert env.close()[0] == {0: -1.0, 1: 1.0}
    assert env.record().turns[-1]["seat"] == 0
    with pytest.raises(UnexpectedReply, match="call reset"):
        env.step("b2")


def test_global_rng_state_is_unchanged() -> None:
    random.seed(3)
    before = random.getstate()
    play(GymposiumRaw("liars_dice"), make_agents(load_game("liars_dice"), 1), 1)
    assert random.getstate() == before


def test_environments_are_reusable_and_copies_independent() -> None:
    [env_id] = register_games("leduc_poker")
    env = ta.make(env_id)
    agents = make_agents(load_game("leduc_poker"), 5)
    first = play(env, agents, 5)
    env.reset(num_players=2, seed=6)
    assert env.close()[0] is None
    env.get_observation()
    env.step("call")
    copied = copy.deepcopy(env)
    for one in (env, copied):
        done = False
        while not done:
            one.get_observation()
            done, _ = one.step("call")
    assert env.close() == copied.close() != first
    assert env.record().seed == 6


def test_mistakes_suggest_a_fix() -> None:
    env = GymposiumEnv("tic_tac_toe")
    with pytest.raises(UnexpectedReply, match=r"call reset\(num_players=2\)"):
        env.get_observation()
    with pytest.raises(BadOption, match="tic_tac_toe has 2 seats"):
        env.reset(num_players=3, seed=1)
    env.reset(num_players=2, seed=1)
    with pytest.raises(WrongType, match="An action must be text"):
        env.step(4)  # type: ignore[arg-type]
    with pytest.raises(BadOption, match="seats 0 to 1, not 2"):
        GymposiumEnv("tic_tac_toe", players={2: "random"})
    with pytest.raises(BadOption, match="leave a seat to an agent"):
        GymposiumEnv("tic_tac_toe", players={0: "random", 1: "random"})
    with pytest.raises(BadOption, match="Unknown policy"):
        GymposiumEnv("tic_tac_toe", on_illegal="twice")
    with pytest.raises(UnknownName, match="tic_tac_toe"):
        register_games("tictactoe")


def test_registration_covers_all_games_and_is_idempotent() -> None:
    ids = register_games()
    assert register_games() == ids
    assert len(ids) > 40
    assert ta.make("gymposium:chess-raw").game is load_game("chess")
