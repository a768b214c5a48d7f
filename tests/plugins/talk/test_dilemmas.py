"""Dilemmas pay what their rules say, and each one's dilemma holds."""

from itertools import product

import pytest

from gymposium import load_game
from gymposium.games.rules import RulesGame
from gymposium_talk.dilemmas import PrisonersDilemma, ThreePlayerDilemma


def rules(name: str) -> str:
    return load_game(name).rules(0)


@pytest.mark.parametrize("dilemma", [PrisonersDilemma(1, 0), ThreePlayerDilemma(1, 0)], ids=["two", "three"])
def test_defecting_pays_more_whatever_the_others_do_and_all_cooperating_more_than_all_defecting(
    dilemma: PrisonersDilemma | ThreePlayerDilemma,
) -> None:
    for others in product(dilemma.options, repeat=dilemma.players - 1):
        assert dilemma.pay(("defect", *others))[0] > dilemma.pay(("cooperate", *others))[0]
    assert dilemma.pay(("cooperate",) * dilemma.players)[0] > dilemma.pay(("defect",) * dilemma.players)[0]


def test_payoffs_against_two_others_add_up() -> None:
    match = load_game("three_player_dilemma(messages=0,rounds=1)").new(1)
    match.apply({0: "cooperate", 1: "defect", 2: "cooperate"})
    assert match.returns() == (3.0, 10.0, 3.0)


def test_rules_state_the_payoffs() -> None:
    assert "If both cooperate, each gets 3. If both defect, each gets 1." in rules("prisoners_dilemma")
    assert "that player gets 5 and the other 0." in rules("three_player_dilemma")


def test_payoffs_lie_in_the_declared_range() -> None:
    for name in ("prisoners_dilemma", "three_player_dilemma", "stag_hunt(players=4)", "public_goods(players=5)"):
        game = load_game(name)
        assert isinstance(game, RulesGame)
        paid = {
            value for choices in product(game.author.options, repeat=game.seats) for value in game.author.pay(choices)
        }
        assert (min(paid), max(paid)) == pytest.approx(game.utility_range)
