"""Reviews of matches: failed replies, losing decisions, stored files, and losses per move."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.gymposium.test_records import matches, parsed
from tests.viewer.conftest import ScriptedPlayer, write

from gymposium import load_game
from gymposium.analysis.review import (
    LossTally,
    MatchReview,
    ReviewedDecision,
    ReviewFile,
    UnjudgeableGame,
    choose_judge,
    get_review_path,
    read_review,
    review_match,
)
from gymposium.analysis.review.update import review_file
from gymposium.errors import BadRecord
from gymposium.records import Record, read_records
from gymposium.runs.executors.local import LocalExecutor


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    with closing(LocalExecutor(1)) as made:
        yield made


def decision(step: int, seat: int, given: float, *, failed: bool = False) -> ReviewedDecision:
    return ReviewedDecision(step, seat, failed, 0.5, 0.5 - given, None, unlikely=False)


def review(*decisions: ReviewedDecision) -> MatchReview:
    return MatchReview(record="", decisions=[*decisions], unjudged=0)


def test_forfeit_loses_the_remaining_value(tmp_path: Path) -> None:
    write(tmp_path / "m.jsonl", "tic_tac_toe", [ScriptedPlayer("a1", "b1", "nonsense"), ScriptedPlayer("c3", "b3")])
    ((_, record),) = read_records(tmp_path / "m.jsonl")
    assert isinstance(record, Record)
    found = review_match(record, choose_judge(load_game("tic_tac_toe"))).decisions
    last = found[-1]
    assert (last.step, last.seat, last.failed) == (4, 0, True)
    assert (last.before, last.after, last.best) == (1.0, -1.0, "a3")
    assert [one.failed for one in found[:-1]] == [False] * 4


def test_drawn_move_counts_as_failed_reply(tmp_path: Path) -> None:
    write(tmp_path / "m.jsonl", "tic_tac_toe", [ScriptedPlayer("nonsense"), "random"], policy="random")
    ((_, record),) = read_records(tmp_path / "m.jsonl")
    assert isinstance(record, Record)
    found = review_match(record, choose_judge(load_game("tic_tac_toe"))).decisions
    assert [one.failed for one in found] == [True] + [False] * (len(found) - 1)
    assert len(found) == len(record.events)


@pytest.mark.parametrize("policy", ["forfeit", "random", "retry(2)", "penalty(0.1,3)"])
@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker", "goofspiel(num_cards=3)"])
def test_every_decision_is_reviewed_once(game: str, policy: str) -> None:
    judge = choose_judge(load_game(game), "exact" if game == "tic_tac_toe" else "cfr-20")
    for played in matches(game, policy, n=12):
        record = parsed(played)
        found = review_match(record, judge)
        moves = sum(event.seat >= 0 for event in record.events) - record.opening
        failures = sum(not record.ending.broke_off and one.seat is not None for one in record.ending.failures)
        assert len(found.decisions) == moves + failures
        assert found.unjudged == 0
        low, high = load_game(game).utility_range
        for one in found.decisions:
            assert low - 1e-9 <= one.after <= one.before + 1e-9 <= high + 2e-9
        for one in found.decisions[len(found.decisions) - failures :]:
            assert one.failed


def test_random_opening_moves_are_not_reviewed() -> None:
    from gymposium import make_player
    from gymposium.match import MatchJob, play

    game = load_game("tic_tac_toe")
    (played,) = play([MatchJob("m", game, [make_player("random")] * 2, 1, opening=3)])
    found = review_match(Record.from_match(played), choose_judge(game)).decisions
    assert [one.step for one in found] == [*range(3, 3 + len(found))]


def test_finds_the_losing_decision() -> None:
    lost = review(decision(0, 0, 0.8), decision(1, 1, 0.9), decision(2, 0, 0.5), decision(4, 0, 0.1))
    found = lost.find_losing_decision((-1, 1), -1, 1, exact=True)
    assert found is not None
    assert (found.decision.step, found.share) == (2, 0.25)
    assert [drop.decision.step for drop in lost.find_drops(-1, 1)] == [1, 0, 2]
    assert lost.find_losing_decision((0, 0), -1, 1, exact=True) is None
    small = review(decision(0, 0, 0.3))
    assert small.find_losing_decision((-1, 1), -1, 1, exact=False) is None
    assert small.find_losing_decision((-1, 1), -1, 1, exact=True) is not None
    assert review(decision(0, 0, 0.0)).find_losing_decision((-1, 1), -1, 1, exact=True) is None


def test_reviews_are_stored_beside_the_matches(tmp_path: Path, executor: LocalExecutor) -> None:
    file = tmp_path / "m.jsonl"
    write(file, "tic_tac_toe", ["random", "random"], seeds=range(4))
    first = review_file(file, None, executor)
    assert (first.new, len(first.records)) == (4, 4)
    kept = read_review(file)
    assert kept == first.reviews
    assert get_review_path(file) == tmp_path / "m.review.json"
    write(file, "tic_tac_toe", ["random", "random"], seeds=range(4, 6))
    assert review_file(file, None, executor).new == 2
    assert review_file(file, None, executor).new == 0
    assert review_file(file, "search-10", executor).new == 6
    lines = file.read_text().splitlines()
    changed = json.loads(lines[0])
    changed["players"] = ["somebody", "else"]
    file.write_text("\n".join([json.dumps(changed, separators=(",", ":")), *lines[1:]]) + "\n")
    stale = read_review(file)
    assert stale is not None
    assert [stale.find_review(one) is None for _, one in read_records(file) if isinstance(one, Record)] == [
        True,
        *[False] * 5,
    ]
    assert review_file(file, "search-10", executor).new == 1


@pytest.mark.slow
def test_parallel_review_matches_serial_review(tmp_path: Path, executor: LocalExecutor) -> None:
    file, other = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    for path in (file, other):
        write(path, "connect_four", ["random", "random"], seeds=range(18))
    with closing(LocalExecutor(2)) as several:
        assert review_file(other, "search-5", several).reviews == review_file(file, "search-5", executor).reviews


def test_unreplayable_match_is_reported(tmp_path: Path, executor: LocalExecutor) -> None:
    file = tmp_path / "m.jsonl"
    write(file, "tic_tac_toe", ["random", "random"], seeds=range(2))
    changed, kept = (json.loads(line)["id"] for line in file.read_text().splitlines())
    file.write_text(file.read_text().replace('[0,"', '[1,"', 1))
    found = review_file(file, None, executor)
    assert [problem.partition(":")[0] for problem in found.problems] == [changed]
    assert [*found.reviews.matches] == [kept]


@pytest.mark.parametrize(
    ("games", "why"),
    [
        ((), "no finished match"),
        (("tic_tac_toe", "connect_four"), "matches of 2 games"),
        (("solitaire",), "two seats"),
    ],
)
def test_refuses_empty_mixed_and_unjudgeable_files(
    tmp_path: Path, executor: LocalExecutor, games: tuple[str, ...], why: str
) -> None:
    file = tmp_path / "m.jsonl"
    file.touch()
    for game in games:
        write(file, game, ["random"] * load_game(game).seats, tag=game)
    with pytest.raises((BadRecord, UnjudgeableGame), match=why):
        review_file(file, None, executor)


def test_rejects_invalid_review_files(tmp_path: Path) -> None:
    get_review_path(tmp_path / "m.jsonl").write_text("{}")
    with pytest.raises(BadRecord, match=r"holds no reviews of matches.*gymposium review"):
        read_review(tmp_path / "m.jsonl")
    made = ReviewFile.from_reviews(
        load_game("kuhn_poker"), choose_judge(load_game("kuhn_poker"), "cfr-5"), {"m": review()}
    )
    made.write(get_review_path(tmp_path / "m.jsonl"))
    assert read_review(tmp_path / "m.jsonl") == made


def test_loss_per_move_excludes_failures() -> None:
    tally = LossTally()
    tally.add(["a", "b"], 1, review(decision(0, 0, 0.5), decision(1, 1, 0.0), decision(2, 0, 1.0, failed=True)), -1, 1)
    tally.add(["b", "a"], 1, review(decision(0, 0, 0.2), decision(1, 1, 0.1)), -1, 1)
    tally.add(["a", "a"], 2, review(decision(0, 0, 0.0)), -1, 1)
    b, a = tally.players()
    assert (a.player, a.matches, a.moves, a.failures, a.per_failure) == ("a", 3, 3, 1, 0.5)
    assert a.per_move == pytest.approx((0.25 + 0.05) / 3)
    assert (b.player, b.moves, b.failures, b.per_failure, b.low) == ("b", 2, 0, None, None)
    assert b.per_move == pytest.approx(0.05)


@pytest.mark.parametrize("given", [0.0, 2.0])
def test_few_equal_deals_give_a_wide_interval(given: float) -> None:
    tally = LossTally()
    for deal in range(2):
        tally.add(["a"], deal, review(decision(0, 0, given)), -1, 1)
    (lost,) = tally.players()
    assert lost.low is not None
    assert lost.high is not None
    assert 0.0 <= lost.low <= lost.per_move <= lost.high <= 1.0
    assert lost.high - lost.low > 0.5


def test_interval_covers_the_mean_loss() -> None:
    """In simulated matches: deals differ in what they cost, and in how many moves they take."""
    draws, held = random.Random(7), 0
    for _ in range(400):
        tally = LossTally()
        for deal in range(60):
            hard = draws.random()
            for _ in range(2):
                moves = [decision(n, 0, float(draws.random() < hard)) for n in range(1 + int(4 * hard))]
                tally.add(["a"], deal, review(*moves), -1, 1)
        (lost,) = tally.players()
        assert lost.low is not None
        assert lost.high is not None
        held += lost.low <= TRUTH <= lost.high
    assert held / 400 >= 0.92


TRUTH = (
    0.5
    * math.fsum((1 + n) * (((n + 1) / 4) ** 2 - (n / 4) ** 2) / 2 for n in range(4))
    / (math.fsum((1 + n) / 4 for n in range(4)))
)
"""Half (the range is 2) the mean of `moves * hard` over `hard`, divided by the mean number of moves."""
