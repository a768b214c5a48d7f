"""`cfr-N` approaches an equilibrium in games with hidden information or simultaneous moves."""

from __future__ import annotations

import pyspiel
import pytest

from gymposium import load_game, make_player
from gymposium.analysis.exact import TooLarge, compute_exploitability, tabulate_policy
from gymposium.analysis.exact.equilibrium import compute_average_policy
from gymposium.analysis.exact.players import CfrPlayer
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.match import MatchJob, play
from gymposium.players.protocol import Ask, MatchContext


def solve_with_openspiel(engine: pyspiel.Game, iterations: int) -> pyspiel.TabularPolicy:
    solver = pyspiel.CFRPlusSolver(engine)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    return solver.tabular_average_policy()


@pytest.mark.parametrize(
    ("name", "iterations", "most"),
    [("kuhn_poker", 1000, 0.001), pytest.param("leduc_poker", 100, 0.05, marks=pytest.mark.slow)],
)
def test_distance_from_equilibrium_matches_openspiel(name: str, iterations: int, most: float) -> None:
    game = load_game(name)
    assert isinstance(game, OpenSpielGame)
    found = compute_exploitability(tabulate_policy(game, CfrPlayer(iterations)))
    assert found == pytest.approx(
        pyspiel.nash_conv(game.engine, solve_with_openspiel(game.engine, iterations)) / 2, abs=1e-9
    )
    assert found < most


def test_more_iterations_reduce_exploitability() -> None:
    game = load_game("kuhn_poker")
    few, many = (compute_exploitability(tabulate_policy(game, CfrPlayer(n))) for n in (2, 200))
    assert many < few / 10


def test_simultaneous_bids_are_keyed_by_information_state() -> None:
    game = load_game("goofspiel(num_cards=4,points_order=descending)")
    assert isinstance(game, OpenSpielGame)
    in_turn = pyspiel.convert_to_turn_based(game.engine)
    table = compute_average_policy(game, 20)
    theirs = solve_with_openspiel(in_turn, 20).policy_table()
    assert sorted(map(sorted, (odds.items() for odds in table.values()))) == sorted(map(sorted, theirs.values()))
    first = [{action: round(p, 9) for action, p in odds.items()} for (_, view), odds in table.items() if len(odds) == 4]
    assert len(first) == 2  # one state for each seat: what the first chose is not told to the second
    assert first[0].keys() == first[1].keys() == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "name", ["kuhn_poker", "leduc_poker", pytest.param("goofspiel(num_cards=4)", marks=pytest.mark.slow)]
)
def test_cfr_player_follows_its_policy_and_beats_random(name: str) -> None:
    game, cfr, random = load_game(name), CfrPlayer(30), make_player("random")
    jobs = [
        MatchJob(f"{i}-{s}", game, [cfr, random] if s == 0 else [random, cfr], i) for i in range(150) for s in (0, 1)
    ]
    gained = sum(p.utilities[int(p.job.id[-1])] for p in play(jobs))
    assert gained > 0
    match = game.new(3)
    while 0 not in match.to_move():
        match.apply({seat: (match.legal_moves(seat) or [])[0] for seat in match.to_move()})
    asks = [Ask(MatchContext(match, "m", seed), 0, 0) for seed in range(600)]
    (odds, *_) = cfr.distributions(asks)
    replies = [reply.text for reply in cfr.act(asks)]
    for move, probability in zip(odds.moves, odds.probabilities, strict=True):
        assert replies.count(move) / 600 == pytest.approx(probability, abs=0.08)


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        ("tic_tac_toe", "Write exact, which plays it if it has at most [0-9,]+ positions, or mcts-N."),
        ("chess", "with hidden information. Write mcts-N."),  # exact refuses it, for its size
        ("backgammon", "with hidden information. Write mcts-N."),  # exact refuses it, for its dice
        ("blackjack", "two seats"),
        ("hearts", "two seats"),
        ("trace", "only for OpenSpiel games"),
        ("liars_dice(numdice=3)", "histories"),
    ],
)
def test_refuses_unsupported_and_too_large_games(game: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium.analysis.exact.equilibrium.MOST_POSITIONS", 5_000)
    match = load_game(game).new(0)
    with pytest.raises(TooLarge, match=reason):
        CfrPlayer(10).act([Ask(MatchContext(match, "m", 0), match.to_move()[0], 0)])
