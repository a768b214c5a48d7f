"""Seats and seeds: swapped seats share deals, and players' streams differ between matches."""

from __future__ import annotations

import time
from itertools import islice

import pytest

from gymposium import load_game, make_player
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import MatchPlan, Series, plan_jobs, round_up_matches

POLICY = FailurePolicy("forfeit")


@pytest.mark.parametrize("game", ["kuhn_poker", "hearts"])
def test_swapped_seats_give_every_player_every_deal(game: str) -> None:
    played = load_game(game)
    players = [make_player("random") for _ in range(played.seats)]
    jobs = [*plan_jobs(played, players, 2 * played.seats, seed=5, swap=True, tag="m", on_illegal=POLICY)]
    rounds = [jobs[: played.seats], jobs[played.seats :]]
    deals = [{job.seed for job, _ in matches} for matches in rounds]
    assert [len(seeds) for seeds in deals] == [1, 1]
    assert deals[0] != deals[1]
    for matches in rounds:
        for seat in range(played.seats):
            assert {order[seat] for _, order in matches} == set(range(played.seats))
    for job, order in jobs:
        assert [*job.players] == [players[index] for index in order]


@pytest.mark.parametrize(
    ("games", "matches"),
    [
        (["tic_tac_toe"], 100),
        (["universal_poker(players=3)"], 102),
        (["universal_poker(players=4)"], 100),
        (["hanabi(players=5)"], 100),
        (["universal_poker(players=6)"], 102),
        (["solitaire"], 100),
        (["universal_poker(players=3)", "hearts"], 108),
    ],
)
def test_match_count_is_rounded_up_for_all_seats(games: list[str], matches: int) -> None:
    assert round_up_matches(100, *map(load_game, games)) == matches


def test_unswapped_players_keep_their_seats_with_fresh_deals() -> None:
    players = [make_player("random"), make_player("random")]
    jobs = [*plan_jobs(load_game("kuhn_poker"), players, 8, seed=5, swap=False, tag="m", on_illegal=POLICY)]
    assert [order for _, order in jobs] == [[0, 1]] * 8
    assert len({job.seed for job, _ in jobs}) == 8


@pytest.mark.parametrize("swap", [True, False])
def test_player_streams_differ_and_follow_from_the_seed(swap: bool) -> None:
    game, players = load_game("kuhn_poker"), [make_player("random"), make_player("random")]

    def seeds(seed: int) -> list[int | None]:
        jobs = plan_jobs(game, players, 8, seed=seed, swap=swap, tag="m", on_illegal=POLICY)
        return [job.player_seed for job, _ in jobs]

    assert len(set(seeds(5))) == 8
    assert seeds(5) == seeds(5)
    assert not set(seeds(5)) & set(seeds(6))


def test_plan_numbers_matches_by_id() -> None:
    players = [make_player("random"), make_player("random")]
    jobs = [*plan_jobs(load_game("kuhn_poker"), players, 3, seed=5, swap=True, tag="m", on_illegal=POLICY)]
    plan = MatchPlan((Series("m", "kuhn_poker", ("random", "random"), 3, 5, True, POLICY),))
    assert {job.id: number for number, (job, _) in enumerate(jobs)} == plan.numbers()


def test_huge_plan_is_numbered_lazily() -> None:
    series = [Series(tag, "kuhn_poker", ("random", "random"), 10**15, 5, True, POLICY) for tag in ("a", "a-1")]
    plan = MatchPlan(tuple(series))
    numbers = plan.numbers()
    for number in (0, 10**15 - 1, 10**15, 2 * 10**15 - 1):
        assert numbers[plan.match_id(number)] == number == numbers[str(plan.match(number)["id"])]
    for unknown in ("a", "b-1", "a-07", "a--1", f"a-{10**15}", "a-" + "9" * 5000, "a-1-²"):
        assert unknown not in numbers
    assert [*islice(numbers.find_missing({"a-0", "a-2"}), 3)] == [1, 3, 4]
    assert numbers.count_missing({"a-0", "a-2", "b-5"}) == 2 * 10**15 - 2


def test_match_lookup_is_linear_in_many_series() -> None:
    plan = MatchPlan(tuple(Series(f"m{n}", "g", ("random",), n % 2, 5, True, POLICY) for n in range(40_000)))
    began = time.process_time()
    assert [plan.match_id(number) for number in range(plan.count)] == [f"m{n}-0" for n in range(1, 40_000, 2)]
    for outside in (-1, plan.count):
        with pytest.raises(IndexError):
            plan.match_id(outside)
    assert time.process_time() - began < 10
