"""The tower of Hanoi: the solver takes the known number of moves, and larger disks never lie on smaller ones."""

from __future__ import annotations

import pytest

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium.games.rules import RulesGame
from gymposium_puzzles.planning.hanoi import Hanoi


@pytest.mark.parametrize("disks", [1, 3, 6])
def test_solver_takes_the_known_number_of_moves(disks: int) -> None:
    game = load_game("hanoi", disks=disks)
    assert isinstance(game, RulesGame)
    assert isinstance(game.author, Hanoi)
    match = game.new(1)
    while match.to_move():
        match.apply({0: game.author.solve(match.state)})
        for line in match.observe(0, "compact").text.splitlines()[:3]:
            held = line.split()[1:]
            assert held == ["empty"] or held == sorted(held)
    assert match.returns() == (1.0,)
    assert sum(event.seat == 0 for event in match.events) == 2**disks - 1


def test_too_few_moves_are_refused() -> None:
    with pytest.raises(BadParameter, match="3 disks take 7 moves"):
        load_game("hanoi", disks=3, turns=6)
