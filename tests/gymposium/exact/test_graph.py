"""All positions of a small game: how many, in which order, and what is refused."""

from __future__ import annotations

import pytest

from gymposium.exact import MAX_POSITIONS, TooLarge
from gymposium.exact.graph import OVER, graph_of
from gymposium.games.protocol import CHANCE
from gymposium.games.registry import load_game


@pytest.mark.parametrize(
    ("name", "states"),
    [("tic_tac_toe", 4520), ("kuhn_poker", 12), ("leduc_poker", 936), ("liars_dice(dice_sides=4)", 1024)],
)
def test_every_information_state_is_there_once_for_each_seat(name: str, states: int) -> None:
    """4,520 boards of tic-tac-toe have a move to make; the others are OpenSpiel's counts."""
    positions = graph_of(load_game(name)).positions
    assert len({(p.seat, p.view) for p in positions if p.seat >= 0}) == states


@pytest.mark.parametrize("name", ["tic_tac_toe", "leduc_poker", "openspiel:nim"])
def test_a_position_is_what_its_events_lead_to(name: str) -> None:
    game = load_game(name)
    positions = graph_of(game).positions
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
                assert match.to_move() == (position.seat,)
                assert match.view(position.seat) == position.view
                assert tuple(match.legal_moves(position.seat) or ()) == position.moves


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("connect_four", f"more than {MAX_POSITIONS} positions"),
        ("goofspiel(num_cards=3)", "two seats that move in turn"),
        ("hearts", "two seats that move in turn"),
        ("2048", "two seats that move in turn|OpenSpiel"),
        ("trace", "OpenSpiel"),
        ("openspiel:pig(players=2,winscore=10)", "positions repeat"),
        ("openspiel:coin_game", "cannot say what a seat knows"),
    ],
)
def test_what_cannot_be_traversed_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(TooLarge, match=reason):
        graph_of(load_game(name))
