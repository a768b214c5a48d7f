"""All positions of a small game: their number, their order, and refused games."""

from __future__ import annotations

import pytest

from gymposium.analysis.exact import TooLarge
from gymposium.analysis.exact.graph import OVER, build_graph, check_small
from gymposium.games.protocol import CHANCE
from gymposium.games.registry import load_game


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("tic_tac_toe", 4520),
        ("kuhn_poker", 12),
        ("leduc_poker", 936),
        ("liars_dice(dice_sides=4)", 1024),
        ("goofspiel(num_cards=4)", 3608),
        ("dark_hex(num_rows=2,num_cols=2)", 70),
    ],
)
def test_graph_has_each_information_state_once(name: str, states: int) -> None:
    """4,520 boards of tic-tac-toe have a move to make; the others are OpenSpiel's counts."""
    positions = build_graph(load_game(name)).positions
    assert len({(p.seat, p.view) for p in positions if p.seat >= 0}) == states


@pytest.mark.parametrize("name", ["tic_tac_toe", "leduc_poker", "openspiel:nim", "goofspiel(num_cards=3)"])
def test_position_matches_replay_of_its_events(name: str) -> None:
    game = load_game(name)
    positions = build_graph(game).positions
    for i, position in enumerate(positions):
        assert all(child > i for child in position.children)
        if position.seat == CHANCE:
            assert sum(position.odds) == pytest.approx(1.0)
        elif i % 7 == 0:
            match = game.load(position.events)
            if position.seat == OVER:
                assert match.to_move() == ()
                assert match.returns() == position.returns
            else:
                assert position.seat in match.to_move()
                assert position.joint == (match.to_move()[-1] != position.seat)
                assert match.view(position.seat) == position.view
                assert tuple(match.legal_moves(position.seat) or ()) == position.moves


@pytest.mark.parametrize(
    "name",
    [
        "leduc_poker",
        "liars_dice(dice_sides=4)",
        "goofspiel(num_cards=3)",
        pytest.param("dark_hex(num_rows=2,num_cols=3)", marks=pytest.mark.slow),
    ],
)
def test_view_implies_perfect_recall(name: str) -> None:
    """Best responses rely on it: they are computed for each view, from the ends backwards."""
    positions = build_graph(load_game(name)).positions
    before: list[tuple[tuple[object, ...], tuple[object, ...]]] = [((), ())] * len(positions)
    known: dict[tuple[int, str], tuple[object, ...]] = {}
    for i, position in enumerate(positions):
        if position.seat >= 0:
            mine = before[i][position.seat]
            assert known.setdefault((position.seat, position.view), mine) == mine
        for move, child in zip(position.moves, position.children, strict=True):
            first, second = before[i]
            if position.seat == 0:
                first = (first, position.view, move)
            elif position.seat == 1:
                second = (second, position.view, move)
            before[child] = (first, second)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("hearts", "need two seats"),
        ("2048", "two seats|OpenSpiel"),
        ("chess", "more than 300 moves"),
        ("trace", "need two seats"),
        ("openspiel:pig(players=2,winscore=10,horizon=100)", "positions repeat"),
        ("openspiel:coin_game", "does not expose what a seat knows"),
    ],
)
def test_untraversable_games_are_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(TooLarge, match=reason):
        build_graph(load_game(name))


def test_position_count_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    check_small(load_game("leduc_poker"))
    with pytest.raises(TooLarge, match="connect_four has more than 20,000 positions"):
        check_small(load_game("connect_four"))
    monkeypatch.setattr("gymposium.analysis.exact.graph.MOST_POSITIONS", 50)
    with pytest.raises(TooLarge, match="more than 50 positions"):
        build_graph(load_game("clobber(rows=2,columns=4)"))
