"""Rates and means against published values."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import pytest
import scipy.stats
from scipy.stats import binomtest, multinomial

from gymposium import load_game, make_player
from gymposium.errors import UnknownName
from gymposium.games.protocol import Style
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Reply, Usage
from gymposium.records import Record
from gymposium.records.scores import Estimate, Score, estimate_gain, estimate_mean, estimate_rate
from gymposium.replies.reading import READERS, Reader
from gymposium.runs import playing


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [  # (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), z = 1.959964; the third is Newcombe's (1998)
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (81, 263, 0.2553, 0.3662),
        (800, 1000, 0.774112, 0.823627),
        (1, 2, 0.094531, 0.905469),
    ],
)
def test_wilson_interval_matches_published_values(count: int, total: int, low: float, high: float) -> None:
    estimate = estimate_rate(count, total)
    assert estimate.value == count / total
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=6e-5)


def test_wilson_interval_equals_scipys() -> None:
    for total in (1, 2, 7, 30, 1000):
        for count in range(0, total + 1, total // 7 or 1):
            theirs, estimate = binomtest(count, total).proportion_ci(method="wilson"), estimate_rate(count, total)
            assert (estimate.low, estimate.high) == (theirs.low, theirs.high), (count, total)


def test_student_interval_matches_the_t_table() -> None:
    estimate = estimate_mean([1.0, 2.0, 3.0, 4.0, 5.0])  # t(0.975, 4) = 2.776445
    assert estimate.value == 3.0
    assert estimate.high - 3.0 == pytest.approx(2.776445 * math.sqrt(2.5 / 5), abs=1e-5)
    assert estimate.low + estimate.high == pytest.approx(6.0)


def test_few_values_have_no_interval() -> None:
    assert math.isnan(estimate_mean([]).value)
    assert estimate_mean([2.0]).value == 2.0
    assert math.isnan(estimate_mean([2.0]).low)
    assert math.isnan(estimate_rate(0, 0).value)
    assert str(estimate_mean([1.0, 1.0, 1.0])) == "1.000 [–, –]"  # unknown bounds: the next value could be anything
    assert str(Estimate(0.5, 0.4, 0.6)) == "0.500 [0.400, 0.600]"


def test_unknown_names_are_refused() -> None:
    for ask in (Score().result_rate, Score().reading_rate, Score().failure_rate):
        with pytest.raises(UnknownName, match=r"Unknown (result|reading|failure) 'lost'"):
            ask("lost")  # type: ignore[arg-type]


@pytest.mark.parametrize(("game", "seats"), [("2048", 1), ("kuhn_poker", 2)])
def test_score_of_one_match_is_valid_json(game: str, seats: int) -> None:
    data = playing.play(game, ["random"] * seats).as_dict()
    assert json.loads(json.dumps(data, allow_nan=False))["players"][0]["return"][1] is None


WIN, LOSS = (1.0, -1.0)


def test_interval_of_a_bounded_mean_stays_in_bounds() -> None:
    assert estimate_mean([WIN, LOSS], (-1.0, 1.0)) == Estimate(0.0, -1.0, 1.0)
    assert estimate_mean([0.2, 0.4], (0.0, 0.5)).high == 0.5
    for values in ([WIN] * 3 + [LOSS], [WIN, 0.0], [0.0] * 9 + [LOSS]):
        found = estimate_mean(values, (-1.0, 1.0))
        assert -1 <= found.low < found.value < found.high <= 1


def test_equal_values_still_have_an_interval() -> None:
    """After four forfeits a win may still come in six of ten matches; after a thousand in four of a thousand."""
    four, many = estimate_mean([LOSS] * 4, (-1.0, 1.0)), estimate_mean([LOSS] * 1000, (-1.0, 1.0))
    assert (four.low, many.low) == (-1.0, -1.0)
    assert four.high == pytest.approx(-1 + 2 * (1 - 0.025 ** (1 / 4)))
    assert many.high == pytest.approx(-1 + 2 * 0.003682, abs=1e-5)
    draws = estimate_mean([0.0] * 10, (-1.0, 1.0))
    assert draws.low == -draws.high < -0.3
    score = Score()
    for match in play(MatchJob(str(seed), load_game("pig"), [SilentPlayer()] * 2, seed) for seed in range(4)):
        score.add(match, match.ending.seat or 0)
    assert score.mean_return() == four


def test_bounded_mean_intervals_cover_the_mean() -> None:
    """By exact sums over all samples of wins, draws and losses: at least 94 of 100 intervals hold the mean."""
    for count in (5, 12, 30):
        intervals = {
            (wins, draws): estimate_mean([WIN] * wins + [0.0] * draws + [LOSS] * (count - wins - draws), (-1.0, 1.0))
            for wins in range(count + 1)
            for draws in range(count + 1 - wins)
        }
        for shares in ((0.5, 0.0), (0.97, 0.0), (0.9, 0.02), (0.02, 0.96), (0.3, 0.6), (0.01, 0.0)):
            loss = 1 - sum(shares)
            covered = sum(
                multinomial.pmf([wins, draws, count - wins - draws], count, [*shares, loss])
                for (wins, draws), found in intervals.items()
                if found.low <= shares[0] - loss <= found.high
            )
            assert covered >= 0.94, (count, shares, covered)


class SilentPlayer:
    """Never replies with a move."""

    name = "silent"
    reader: Reader = READERS["move"]
    style: Style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply("")] * len(asks)


class MumblingPlayer(SilentPlayer):
    """Replies with text, but no move, from its second attempt on."""

    def __init__(self) -> None:
        self.asked = 0

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        self.asked += 1
        return [Reply("  " if self.asked == 1 else f"hm {self.asked}")] * len(asks)


@pytest.mark.parametrize(("player", "example"), [(SilentPlayer(), ""), (MumblingPlayer(), "hm 2")])
def test_unparsable_example_prefers_replies_with_text(player: SilentPlayer, example: str) -> None:
    job = MatchJob("m", load_game("tic_tac_toe"), [player] * 2, 1, on_illegal=FailurePolicy.parse("retry(3)"))
    [played] = play([job])
    score = Score()
    score.add(played, 0)
    assert score.unparsable_example == example


def test_gain_is_paired_by_deal() -> None:
    """The two policies win and lose the same deals, except for a few that the second one wins: the means differ by less
    than by chance between deals, but not the deals."""
    before = [1.0, 1.0, -1.0, -1.0, 1.0, -1.0] * 20
    after = [1.0 if number % 5 == 0 else value for number, value in enumerate(before)]
    gain = estimate_gain(before, after, 2, (-1.0, 1.0))
    assert gain.value == pytest.approx(estimate_mean(after).value - estimate_mean(before).value)
    assert 0.0 < gain.low < gain.value < gain.high < 2.0
    assert estimate_mean(before).high > estimate_mean(after).low, "the intervals of the means overlap"
    same = estimate_gain(before, before, 2, (-1.0, 1.0))
    assert same.value == 0.0
    assert same.low < 0.0 < same.high
    seats = estimate_gain([1.0, -1.0] * 20, [-1.0, 1.0] * 20, 2)
    assert str(seats) == "0.000 [–, –]", "the seats of a deal make up for each other, so all deals are equal"
    assert estimate_gain([None, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], 2).value == 1.0, "a deal with an unknown return"
    assert math.isnan(estimate_gain([None, 1.0], [1.0, 1.0], 2).value)


def test_interval_of_a_gain_is_that_of_the_paired_differences() -> None:
    """As SciPy computes it from the deals' means. Returns in equal deals are correlated, so it is narrower than the
    interval of the difference between two samples."""
    rng = random.Random(2)
    before = [rng.gauss(0.0, 1.0) for _ in range(80)]
    after = [value + rng.gauss(0.2, 0.3) for value in before]
    old, new = ([fmean(returns[n : n + 2]) for n in range(0, 80, 2)] for returns in (before, after))
    gain = estimate_gain(before, after, 2)
    paired = scipy.stats.ttest_rel(new, old).confidence_interval(0.95)
    apart = scipy.stats.ttest_ind(new, old, equal_var=False).confidence_interval(0.95)
    assert (gain.low, gain.high) == pytest.approx((paired.low, paired.high))
    assert gain.high - gain.low < 0.5 * (apart.high - apart.low)
    assert apart.low < 0.0 < gain.low


def test_score_counts_each_given_seat() -> None:
    players = [make_player("random")] * 2
    played = list(play(MatchJob(str(seed), load_game("tic_tac_toe"), players, seed) for seed in range(50)))
    one = Score()
    for i, match in enumerate(played):
        one.add(match, i % 2)
    assert one.matches == 50
    assert sum(one.results.values()) == 50
    assert one.readings["move"] == sum(t.seat == i % 2 for i, m in enumerate(played) for t in m.turns)
    assert one.mean_return().value * 50 == one.results["win"] - one.results["loss"]
    assert one.result_rate("win").value == one.results["win"] / 50
    assert one.reading_rate("illegal").value == 0
    plain = one.as_dict()
    assert plain["counts"]["results"] == one.results
    assert plain["results"]["draw"][1] <= plain["results"]["draw"][0] <= plain["results"]["draw"][2]
    assert one.forfeits == 0


class FiringWatchdog:
    """A watchdog that fires at once for the player of seat 1."""

    def act(self, player: SilentPlayer, asks: Sequence[Ask]) -> list[Reply] | None:
        return None if asks[0].seat else [Reply(ask.legal_moves[0]) for ask in asks if ask.legal_moves]


def test_partial_reports_are_flagged() -> None:
    score = Score(returns=[1.0, 0.0], results={"score": 2}, forfeits=1, reports={"exact": [1.0]})
    assert (score.mean_report("exact").value, score.reports_all("exact")) == (1.0, False)


def test_repr_of_a_large_score_is_short() -> None:
    many = Score(returns=[0.5] * 1000, results={"win": 1000}, seconds=[0.25] * 1000, completion_tokens=[2] * 1000)
    assert "'win': 1000" in repr(many)
    assert len(repr(many)) < 400


def test_score_counts_own_timeouts_and_penalized_bounds() -> None:
    job = MatchJob("m", load_game("kuhn_poker"), [SilentPlayer(), SilentPlayer()], 0)
    [played] = play([job], watchdog=FiringWatchdog())  # type: ignore[arg-type]
    scores = [Score(), Score()]
    for seat, score in enumerate(scores):
        score.add(played, seat)
    assert [score.failures["timed out"] for score in scores] == [0, 1]
    assert [score.forfeits for score in scores] == [0, 1]
    [played] = play([replace(job, on_illegal=FailurePolicy.parse("penalty(0.5,3)"))])
    scores[0].add(played, 0)
    assert scores[0].bounds == (-2 - 3 * 0.5, 2)  # a forfeit behind three penalties


def test_score_from_records_equals_score_from_matches() -> None:
    """A run computes its output from its records."""
    game = load_game("kuhn_poker")
    of_matches, of_records = Score(), Score()
    for policy in ("forfeit", "penalty(0.5,2)"):
        on_illegal = FailurePolicy.parse(policy)
        jobs = [MatchJob(f"m{n}", game, [make_player("random")] * 2, n, on_illegal=on_illegal) for n in range(6)]
        for number, played in enumerate(play(jobs)):
            if played.turns:
                played.turns[0].usage = Usage(10, number, 0.25)
            of_matches.add(played, number % 2)
            of_records.add_record(Record.parse(Record.from_match(played).line()), game, number % 2)
    assert of_matches == of_records
    assert of_records.seconds
