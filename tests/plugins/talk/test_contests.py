"""Contests (rps_with_talk, blotto) are zero-sum and fair, and Blotto describes its allocations."""

from itertools import product

import pytest

from gymposium import load_game
from gymposium.errors import IllegalMove
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import READERS
from gymposium_talk.contests import Blotto, RockPaperScissors


@pytest.mark.parametrize("contest", [RockPaperScissors(1, 0), Blotto(5, 3, 1, 0)], ids=["rps", "blotto"])
def test_a_round_is_zero_sum_and_symmetric(contest: RockPaperScissors | Blotto) -> None:
    for one, other in product(contest.options, repeat=2):
        assert contest.pay((one, other)) == contest.pay((other, one))[::-1]
        assert sum(contest.pay((one, other))) == 0


def test_each_shape_beats_one_and_loses_to_one() -> None:
    rps = RockPaperScissors(1, 0)
    assert rps.pay(("paper", "rock")) == rps.pay(("rock", "scissors")) == rps.pay(("scissors", "paper")) == (1, -1)
    for one in rps.options:
        assert sorted(rps.pay((one, other))[0] for other in rps.options) == [-1, 0, 1]


@pytest.mark.parametrize(("coins", "fields"), [(4, 3), (10, 3), (5, 4), (6, 5)])
def test_every_allocation_is_beaten(coins: int, fields: int) -> None:
    blotto = Blotto(coins, fields, 1, 0)
    for one in blotto.options:
        assert any(blotto.pay((one, other))[0] < 0 for other in blotto.options)


def test_the_player_with_more_fields_wins() -> None:
    match = load_game("blotto(rounds=1,messages=0)").new(1)
    match.apply({0: "0 5 5", 1: "8 1 1"})
    assert match.returns() == (1.0, -1.0)


def test_prompts_describe_allocations_and_others_are_illegal() -> None:
    match = load_game("blotto").new(1)
    write = get_prompt(match.game, "full", READERS["move"])
    assert match.observe(0).move_form == ""
    match.apply({0: "I send 10 to the first field.", 1: "So do I."})
    form = "3 numbers that add up to 10, the soldiers on each field, like 4 3 3"
    assert f"Legal moves: {form}\n" in write(match.observe(0))
    assert match.observe(0, "compact").text.endswith(f"legal {form}\n")
    for wrong in ("4 3 2", "11 -1 0", "10", "4  3 3"):
        with pytest.raises(IllegalMove):
            match.apply({0: wrong, 1: "4 3 3"})
