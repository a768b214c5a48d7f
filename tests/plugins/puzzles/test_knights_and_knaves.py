"""Knights and knaves: the texts have exactly one answer, by an independent reading of them."""

from __future__ import annotations

import re
from itertools import product

import pytest

from gymposium import load_game
from gymposium.games.rules import RulesGame


def holds(text: str, knights: dict[str, bool]) -> bool:
    """Return whether a statement in words is true."""
    if found := re.fullmatch(r"Exactly (\d) of us (\d) are knights\.", text):
        assert int(found[2]) == len(knights)
        return sum(knights.values()) == int(found[1])
    if found := re.fullmatch(r"(\w+) and (\w+) are of the same kind\.", text):
        return knights[found[1]] == knights[found[2]]
    if found := re.fullmatch(r"(\w+) and (\w+) are of different kinds\.", text):
        return knights[found[1]] != knights[found[2]]
    found = re.fullmatch(r"(\w+) is a (knight|knave)\.", text)
    assert found is not None
    return knights[found[1]] == (found[2] == "knight")


@pytest.mark.parametrize("people", [2, 3, 6])
def test_texts_have_one_answer(people: int) -> None:
    game = load_game("knights_and_knaves", people=people)
    assert isinstance(game, RulesGame)
    for seed in range(15):
        match = game.new(seed)
        said = dict(line.split(": ") for line in match.observe(0, "compact").text.splitlines()[:people])
        fitting = [
            knights
            for knights in (dict(zip(said, kinds, strict=True)) for kinds in product((True, False), repeat=people))
            if all(holds(said[name], knights) == knight for name, knight in knights.items())
        ]
        assert len(fitting) == 1
        move = " ".join(f"{name} {'knight' if knight else 'knave'}" for name, knight in fitting[0].items())
        match.apply({0: move})
        assert match.returns() == (1.0,)
        assert match.to_move() == ()
