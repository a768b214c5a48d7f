"""Players as OpenSpiel bots, in OpenSpiel's loop."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyspiel
import pytest

import gymposium
from gymposium.envs.player_bot import PlayerBot
from gymposium.errors import BadOption, GymposiumError
from gymposium.games.openspiel.lookup import load_by_engine_name
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS, Reader

GAMES = [
    "tic_tac_toe",
    "kuhn_poker",
    "leduc_poker",
    "backgammon",
    "pig",
    "goofspiel(num_cards=4)",
    "oshi_zumo",
    "hearts",
]


def evaluate(name: str, player: str = "random", seed: int = 3, matches: int = 3) -> list[list[float]]:
    """The returns of matches in OpenSpiel's loop, with a bot for each seat."""
    game = pyspiel.load_game(name)
    bots = [PlayerBot(player, game, seat, seed=seed) for seat in range(game.num_players())]
    return [pyspiel.evaluate_bots(game.new_initial_state(), bots, number) for number in range(matches)]


@pytest.mark.parametrize("name", GAMES)
def test_evaluate_bots_is_deterministic_per_seed(name: str) -> None:
    assert evaluate(name) == evaluate(name)
    state = pyspiel.load_game(name).new_initial_state()
    assert all(len(returns) == state.num_players() for returns in evaluate(name))


def test_matches_differ_by_number_and_seed() -> None:
    assert len({str(returns) for returns in evaluate("backgammon", matches=8)}) > 1
    assert [evaluate("tic_tac_toe", seed=seed, matches=8) for seed in (1, 1)].count(
        evaluate("tic_tac_toe", seed=2, matches=8)
    ) == 0


def test_search_beats_random_play_in_openspiels_loop() -> None:
    game = pyspiel.load_game("connect_four")
    bots = [PlayerBot("mcts-50", game, 0, seed=1), pyspiel.make_uniform_random_bot(1, 4)]
    returns = [pyspiel.evaluate_bots(game.new_initial_state(), bots, number)[0] for number in range(10)]
    assert sum(returns) > 5


class RecordingPlayer:
    """A player that keeps what it was shown, and replies what it is told to."""

    name = "watching"
    reader: Reader = READERS["move"]
    style: Style = "full"

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.seen: list[tuple[int, str, list[str] | None, str | None]] = []

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        (ask,) = asks
        self.seen.append((ask.seat, ask.observe("full").text, ask.legal_moves, ask.reason))
        return [Reply(self.replies.pop(0) if self.replies else (ask.legal_moves or [""])[0])]


def test_player_sees_exactly_what_its_seat_sees() -> None:
    """The words are those of the same match at a table."""
    game = pyspiel.load_game("kuhn_poker")
    watching = RecordingPlayer()
    state = game.new_initial_state()
    for card in (2, 0):
        state.apply_action(card)
    assert PlayerBot(watching, game, 0, seed=1).step(state) == 0
    seat, text, legal, reason = watching.seen[0]
    assert (seat, legal, reason) == (0, ["pass", "bet"], None)
    assert text.startswith("Your card: K.")
    assert "J" not in text


def test_bot_plays_like_a_table_with_the_same_moves() -> None:
    game = pyspiel.load_game("tic_tac_toe")
    bot = PlayerBot(RecordingPlayer("b2", "a1"), game, 0, seed=1)
    state = game.new_initial_state()
    state.apply_action(bot.step(state))
    state.apply_action(0)
    state.apply_action(bot.step(state))
    table = gymposium.Table("tic_tac_toe", seats=[0, 1], seed=1)
    for seat, move in ((0, "b2"), (1, "a3"), (0, "a1")):
        table.answer(seat, move)
    assert state.history() == table.match.state.history()


def test_player_without_a_legal_move_stops_the_loop() -> None:
    game = pyspiel.load_game("tic_tac_toe")
    bots = [PlayerBot(RecordingPlayer("z9"), game, 0, seed=1), pyspiel.make_uniform_random_bot(1, 4)]
    with pytest.raises(GymposiumError, match="watching made no legal move in tic_tac_toe: The reply could not be read"):
        pyspiel.evaluate_bots(game.new_initial_state(), bots, 1)


def test_failed_replies_are_retried_or_drawn() -> None:
    game = pyspiel.load_game("tic_tac_toe")
    watching = RecordingPlayer("a9", "b2")
    assert PlayerBot(watching, game, 0, seed=1, on_illegal="retry(1)").step(game.new_initial_state()) == 4
    assert watching.seen[1][3] is not None
    drawn = [
        PlayerBot(RecordingPlayer("z"), game, 0, seed=s, on_illegal="random").step(game.new_initial_state())
        for s in range(9)
    ]
    assert len(set(drawn)) > 2


def test_unsupported_arguments_are_refused() -> None:
    game = pyspiel.load_game("tic_tac_toe")
    with pytest.raises(BadOption, match="player_id=2 must be a seat of tic_tac_toe, 0 to 1"):
        PlayerBot("random", game, 2, seed=1)
    with pytest.raises(BadOption, match="has no penalties"):
        PlayerBot("random", game, 0, seed=1, on_illegal="penalty(1)")
    with pytest.raises(BadOption, match="seats hide something"):
        PlayerBot("openspiel-bot:uniform_random", "kuhn_poker", 0, seed=1)
    with pytest.raises(BadOption, match="rules that OpenSpiel lacks"):
        PlayerBot("random", "negotiation", 0, seed=1)
    other = pyspiel.load_game("connect_four").new_initial_state()
    for _ in range(2):
        other.apply_action(2)
    with pytest.raises(BadOption, match="The state does not belong to tic_tac_toe"):
        PlayerBot("random", game, 0, seed=1).step(other)


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("tic_tac_toe()", "tic_tac_toe"),
        ("connect_four(rows=5,columns=4,x_in_row=3)", "connect_four(columns=4,rows=5,x_in_row=3)"),
        ("connect_four(egocentric_obs_tensor=false)", "connect_four"),
        ("hex(board_size=5)", "hex(board_size=5)"),  # the engine derives rows and columns
        ("go(board_size=9)", "go"),
        ("go()", "openspiel:go"),
        ("goofspiel(num_cards=4)", "openspiel:goofspiel(num_cards=4)"),  # ours hides the bids
        ("hearts", "openspiel:hearts"),  # ours has other passes
        ("oshi_zumo(coins=50)", "openspiel:oshi_zumo"),
        ("bargaining(discount=1.0,instances_file=,max_turns=10)", "openspiel:bargaining"),
    ],
)
def test_engine_games_load_with_the_engines_rules(engine: str, name: str) -> None:
    assert load_by_engine_name(engine).name == name


@pytest.mark.parametrize(
    "name",
    [
        *("tic_tac_toe", "backgammon", "goofspiel(num_cards=3)", "leduc_poker", "bargaining"),
        pytest.param("bridge", marks=pytest.mark.slow),
    ],
)
def test_engine_history_leads_to_the_same_match(name: str) -> None:
    rng = random.Random(1)
    state = pyspiel.load_game(name).new_initial_state()
    while not state.is_terminal():
        if state.is_simultaneous_node():
            state.apply_actions([rng.choice(state.legal_actions(seat)) for seat in range(state.num_players())])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
    match = load_by_engine_name(name).begin(None)
    match.advance(state.history())
    assert match.state.history() == state.history()
    assert match.returns() == tuple(state.returns())
    assert match.game.load(match.events).returns() == match.returns()
