"""Tabulated policies: what a player is asked, and what the table holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gymposium import make_player
from gymposium.analysis.exact import NoLegalMove, Policy, tabulate_policy
from gymposium.analysis.exact.graph import build_graph
from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.players.random import RandomPlayer

Factory = Callable[..., Any]


def test_random_policy_is_uniform() -> None:
    policy = tabulate_policy(load_game("leduc_poker"), RandomPlayer())
    assert len(policy.table) == 936
    for found in policy.table.values():
        assert found.probabilities == (1 / len(found.moves),) * len(found.moves)
    assert (policy.exact, policy.estimated, policy.legal_mass) == (True, False, 1.0)


@pytest.mark.parametrize("name", ["tic_tac_toe", "kuhn_poker"])
def test_tabulation_asks_what_play_asks(make_odds_player: Factory, name: str) -> None:
    game, player = load_game(name), make_odds_player(1)
    tabulate_policy(game, player)
    in_table = [asked for batch in player.asked for asked in batch]
    assert len(in_table) == len(set(map(repr, in_table))), "nothing twice"

    class Noting(RandomPlayer):
        seen: list[Any] = []  # noqa: RUF012 - one instance

        def act(self, asks: Any) -> Any:
            self.seen += [(ask.seat, ask.turn, ask.observe("full").text, ask.legal_moves) for ask in asks]
            return super().act(asks)

    noting = Noting()
    jobs = [MatchJob(f"m{i}", game, [noting, noting], seed=i) for i in range(300)]
    assert len(list(play(jobs))) == 300
    assert all(asked in in_table for asked in noting.seen[:400])


def test_asks_only_reachable_states_in_few_batches(make_odds_player: Factory) -> None:
    game, player = load_game("tic_tac_toe"), make_odds_player(3, pure=True)
    policy = tabulate_policy(game, player)
    assert len(policy.table) < 1000
    assert len(player.asked) <= 9
    # whoever plays against it, it never leaves the table
    opponent = make_odds_player(4)
    for played in play(MatchJob(f"m{i}", game, [player, opponent][:: (-1) ** i], seed=i) for i in range(200)):
        seat = int(played.job.players[1] is player)
        match = game.new(played.job.seed)
        for event in played.events:
            if event.seat == seat:
                found = policy.table[seat, match.view(seat)]
                assert found.probabilities[found.moves.index(event.move)] == 1.0
            match.apply({event.seat: event.move})


def test_tabulates_a_single_seat(make_odds_player: Factory) -> None:
    game = load_game("kuhn_poker")
    assert {seat for seat, _ in tabulate_policy(game, make_odds_player(1), seats=[1]).table} == {1}
    both = tabulate_policy(game, make_odds_player(1))
    assert both.table == {
        **tabulate_policy(game, make_odds_player(1), seats=[0]).table,
        **tabulate_policy(game, make_odds_player(1), seats=[1]).table,
    }


def test_restricted_policy_excludes_forfeits(make_odds_player: Factory) -> None:
    policy = tabulate_policy(load_game("kuhn_poker"), make_odds_player(1, 0.75))
    assert (policy.legal_mass, policy.exact) == (0.75, False)
    alone = policy.restrict()
    assert alone.legal_mass == 1.0
    assert [f.probabilities for f in alone.table.values()] == [f.probabilities for f in policy.table.values()]


def test_restriction_without_legal_moves_is_an_error(make_odds_player: Factory) -> None:
    policy = tabulate_policy(load_game("kuhn_poker"), make_odds_player(1))
    state, found = next(iter(policy.table.items()))
    never = replace(found, probabilities=(0.0,) * len(found.moves), legal_mass=0.0)
    with pytest.raises(NoLegalMove, match="never plays a legal move"):
        Policy(policy.game, policy.player, {**policy.table, state: never}).restrict()


def test_refuses_players_without_move_probabilities() -> None:
    with pytest.raises(GymposiumError, match="mcts-10 does not report its move probabilities"):
        tabulate_policy(load_game("tic_tac_toe"), make_player("mcts-10"))


def test_distributions_over_other_moves_are_an_error(make_odds_player: Factory) -> None:
    class Wrong(type(make_odds_player(1))):  # type: ignore[misc]
        def distributions(self, asks: Any) -> Any:
            return [replace(found, moves=found.moves[::-1]) for found in super().distributions(asks)]

    with pytest.raises(ValueError, match="legal moves are"):
        tabulate_policy(load_game("tic_tac_toe"), Wrong(1))


def test_graph_is_cached() -> None:
    game = load_game("tic_tac_toe")
    assert build_graph(game) is build_graph(load_game("tic_tac_toe"))
