"""How long ratings take, and how often their intervals contain the truth.

`speed` rates 10 players in 6 games with 40 match groups for each pairing and 1,000 bootstrap samples, and computes the
fits of the same samples with choix, one after the other, for comparison.

`coverage` simulates players of known strengths with the model of the ratings and rates them. It counts how often the
95% intervals contain the true rating, the true rank, and the true share of points in the payoff matrix. It also counts
how often two players are ranked in the wrong order. The truth is the model's result for infinitely many matches. If a
deal favors a seat, it does so in all of its matches, as cards do. The exit status is 1 if the intervals of some ratings
contain the truth too seldom.

`returns` simulates boards of mean returns whose players all have the same true mean: returns from a normal, a skewed or
a rare distribution, and a board of six players with different distributions. For each number of deals it counts how
often the 95% interval contains the true mean, and how often a player is surely placed above another. The exit code is
1 if that happens too often.

`flip` compares flip distances with brute force: a fit without every set of up to three deals, on boards of three
players and 20 to 60 deals, until 100 boards had such a set.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from choix import ilsr_pairwise_dense

from benchmarks.report import RESULTS, about, table, write
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.bootstrap import SAMPLES, compute_interval, draw_deal_weights, make_generator
from gymposium_arena.ratings.comparisons import Comparisons, Floats, compare_players
from gymposium_arena.ratings.evidence import Evidence, sum_game, sum_games
from gymposium_arena.ratings.fit import POINTS, Ratings, fit_ratings
from gymposium_arena.ratings.flip import TOLERANCE, find_flip
from gymposium_arena.ratings.newton import fit_many
from gymposium_arena.ratings.payoff import compute_payoff
from gymposium_arena.ratings.prior import compute_prior, draw_prior
from gymposium_arena.ratings.ranks import FEWEST, assign_places, find_surely_above
from gymposium_arena.ratings.returns import GameReturns, compute_means

_T = TypeVar("_T")

LEAST = 0.92
"""Share of the intervals that must contain the truth; each row counts about a thousand of them."""
MOST_WRONG = 0.05
"""Share of the boards of mean returns that may place a player above an equal one."""
DEALS = (2, 3, 5, 10, FEWEST, 20, 40, 60)
FLIPS, MOST_REMOVED = 100, 3
MOST_SECONDS = 10.0
"""CPU time for all ratings of `speed`."""


@dataclass(frozen=True)
class World:
    """Simulated players of known strengths."""

    name: str
    steps: tuple[float, ...]
    """Difference of strength between neighboring players in each game, in natural logarithms."""
    players: int = 6
    groups: int = 40
    seats: int = 2
    leaning: float = 0.0
    """Standard deviation of the advantage that a deal gives the first seat, in natural logarithms."""

    @property
    def names(self) -> tuple[str, ...]:
        return ("random", *(f"player {i}" for i in range(1, self.players)))

    def strengths(self, game: int) -> Floats:
        """Return the strengths in a game: in another order in each game, except random, which is always the weakest."""
        ladder = self.steps[game] * np.arange(self.players)
        return np.concatenate([ladder[:1], np.roll(ladder[1:], game)])

    def outcomes(self, game: int, rng: np.random.Generator) -> Iterator[MatchOutcome]:
        """Yield the matches of every lineup in all groups. The player whose exponential clock strikes first comes
        first, which is the model of Plackett and Luce."""
        strengths = self.strengths(game)
        leaning = rng.normal(0.0, self.leaning, self.groups) if self.leaning else np.zeros(self.groups)
        for lineup in combinations(range(self.players), self.seats):
            for group in range(self.groups):
                for shift in range(self.seats):
                    order = [lineup[(seat + shift) % self.seats] for seat in range(self.seats)]
                    power = strengths[order]
                    power[0] += leaning[group]
                    clocks = rng.exponential(size=self.seats) / np.exp(power)
                    yield MatchOutcome(
                        game=str(game),
                        group=str(group),
                        players=tuple(self.names[i] for i in order),
                        utilities=tuple(-clocks),
                        forfeit=None,
                        digest=f"{lineup} {group} {shift}",
                    )

    def shares(self, game: int) -> Floats:
        """Return the true share of points of each player against each; 0 on the diagonal."""
        strengths = self.strengths(game)
        apart = strengths[:, None] - strengths[None, :]
        nodes, weights = np.polynomial.hermite_e.hermegauss(41)
        chance = 1.0 / (1.0 + np.exp(-(apart[..., None] + self.leaning * nodes)))
        share = (chance * weights).sum(axis=-1) / weights.sum()
        np.fill_diagonal(share, 0.0)
        return np.asarray(share)

    def truth(self) -> Floats:
        """Return the model's ratings for infinitely many matches, in Elo points above random."""
        if self.seats > 2:
            found = self.strengths(0)
        else:
            found = fit_many(np.mean([self.shares(game) for game in range(len(self.steps))], axis=0)[None])[0]
        return np.asarray(POINTS * (found - found[0]))


WORLDS = (
    World("equals", (0.0,)),
    World("87 points apart", (0.5,)),
    World("261 points apart", (1.5,)),
    World("521 points apart", (3.0,)),
    World("174 points apart, 10 groups", (1.0,), groups=10),
    World("87 points apart, deals that favour a seat", (0.5,), leaning=1.5),
    World("122 points apart, three seats, 12 groups", (0.7,), players=5, groups=12, seats=3),
    World("four games, 0 to 261 points apart", (0.0, 0.5, 1.0, 1.5)),
)


def rated(world: World, seed: int, samples: int = SAMPLES) -> tuple[Ratings, Evidence, Floats, Floats]:
    """Return ratings of simulated players, their evidence, and the ends of the first game's pay-off intervals."""
    rng = np.random.default_rng([seed, WORLDS.index(world) if world in WORLDS else len(WORLDS)])
    games = [compare_players(world.outcomes(game, rng), world.names) for game in range(len(world.steps))]
    weights = [
        draw_deal_weights(make_generator(seed, "deals", number), samples, len(game.deals))
        for number, game in enumerate(games)
    ]
    evidence = sum_game(games[0], weights[0]) if len(games) == 1 else sum_games(games, weights)
    payoff = compute_payoff(games[0], weights[0], make_generator(seed, "payoff"))
    return fit_ratings(evidence, make_generator(seed, "prior")), evidence, payoff.low, payoff.high


def coverage(world: World, repeats: int, seed: int, samples: int = SAMPLES) -> dict[str, Any]:
    """Count how often intervals contain the truth."""
    truth, share = world.truth(), world.shares(0)
    upper = np.triu_indices(world.players, 1)
    equal = truth[:, None] == truth[None, :]
    held, ranked, paid, wrong, one_sided, widths = [], [], [], 0, 0, []
    for repeat in range(repeats):
        found, _, pay_low, pay_high = rated(world, seed + repeat, samples)
        low, high = compute_interval(found.samples)
        above = find_surely_above(found.samples, np.full(world.players, world.groups))
        for i, place in enumerate(assign_places(found.values.tolist(), above)):
            assert place is not None, "all players met each other"
            # players of equal strength may have any of their ranks
            best = 1 + int((truth > truth[i]).sum())
            worst = world.players - int((truth < truth[i]).sum())
            ranked.append(place.best <= worst and best <= place.worst)
            if i == 0:
                continue
            bound = found.bounds[i]
            held.append((bound == "at most" or low[i] <= truth[i]) and (bound == "at least" or truth[i] <= high[i]))
            one_sided += bound != "interval"
            if bound == "interval":
                widths.append(high[i] - low[i])
        wrong += int((above & ((truth[:, None] < truth[None, :]) | equal)).any())
        paid += ((pay_low <= share) & (share <= pay_high))[upper].tolist()
    return {
        "world": world.name,
        "repeats": repeats,
        "ratings": float(np.mean(held)),
        "one_sided": one_sided / len(held),
        "median_width": float(np.median(widths)) if widths else None,
        "ranks": float(np.mean(ranked)),
        "payoff": float(np.mean(paid)) if world.seats == 2 else None,
        "boards_with_a_wrong_order": wrong / repeats,
    }


def run_coverage(given: argparse.Namespace) -> bool:
    """Measure and write the results. Return whether all targets are met."""
    found = []
    for world in WORLDS:
        found.append(coverage(world, given.repeats, given.seed))
        print(found[-1], flush=True)
    head = ["players", "ratings", "of them one-sided", "median width", "ranks", "pay-off", "boards with a wrong order"]
    rows = [
        [
            one["world"],
            f"{one['ratings']:.3f}",
            f"{one['one_sided']:.2f}",
            "–" if one["median_width"] is None else f"{one['median_width']:.0f}",
            f"{one['ranks']:.3f}",
            "–" if one["payoff"] is None else f"{one['payoff']:.3f}",
            f"{one['boards_with_a_wrong_order']:.2f}",
        ]
        for one in found
    ]
    held = all(one["ratings"] >= LEAST for one in found)
    text = table(head, rows)
    text += f"\nShares that hold the truth, of intervals that promise 0.95. {LEAST} or more of ratings: {_yes(held)}.\n"
    data = {"about": about("gymposium", "numpy"), "must_be": LEAST, "worlds": found, "held": held}
    write(given.out, "ratings-coverage", data, text)
    return held


RETURNS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, deals: rng.normal(0.0, 1.0, deals),
    "skewed up": lambda rng, deals: rng.exponential(1.0, deals) - 1.0,
    "skewed down": lambda rng, deals: 1.0 - rng.exponential(1.0, deals),
    "heavy": lambda rng, deals: np.exp(rng.normal(0.0, 1.0, deals)) - math.exp(0.5),
    "won or lost": lambda rng, deals: (rng.random(deals) < 0.5).astype(float) - 0.5,
    "rarely paid": lambda rng, deals: (rng.random(deals) < 0.1).astype(float) - 0.1,
}
"""Distributions of returns, all of mean 0."""
BOARDS = {**{f"two players, {kind}": (kind, kind) for kind in RETURNS}, "six players, one of each": tuple(RETURNS)}


def returns_coverage(board: str, deals: int, repeats: int, seed: int) -> dict[str, Any]:
    """Count how often intervals of mean returns hold the truth, and how often equal players are told apart."""
    kinds = BOARDS[board]
    limit = 1.0 if {"won or lost", "rarely paid"}.issuperset(kinds) else 30.0
    names, none = tuple(map(str, range(len(kinds)))), np.zeros((len(kinds), len(kinds)))
    held, wrong = list[bool](), 0
    for repeat in range(repeats):
        rng = np.random.default_rng([seed + repeat, deals])
        paid = np.stack([RETURNS[kind](rng, deals) for kind in kinds], axis=1)
        returns = GameReturns(names, tuple(map(str, range(deals))), paid, np.ones_like(paid), none, none)
        weights = draw_deal_weights(make_generator(seed + repeat, "deals"), SAMPLES, deals)
        means = compute_means(returns, weights, (-limit, limit))
        held += ((means.low <= 0.0) & (means.high >= 0.0)).tolist()
        wrong += bool(means.above.any())
    return {"board": board, "deals": deals, "intervals": float(np.mean(held)), "wrong": wrong / repeats}


def run_returns(given: argparse.Namespace) -> bool:
    """Measure and write the results. Return whether the target is met."""
    found = [returns_coverage(board, deals, given.repeats, given.seed) for board in BOARDS for deals in DEALS]
    held = all(one["wrong"] <= MOST_WRONG for one in found)
    rows = [[one["board"], str(one["deals"]), f"{one['intervals']:.3f}", f"{one['wrong']:.3f}"] for one in found]
    text = table(["board", "deals", "intervals", "boards with a wrong order"], rows)
    text += f"\nShares of {given.repeats} boards. A wrong order on {MOST_WRONG} of the boards or fewer: {_yes(held)}.\n"
    data = {"about": about("gymposium", "numpy"), "at_most": MOST_WRONG, "repeats": given.repeats, "boards": found}
    write(given.out, "ratings-returns", {**data, "held": held}, text)
    return held


def run_speed(given: argparse.Namespace) -> bool:
    """Measure and write the results. Return whether the target is met."""
    world = World("speed", (0.5,) * 6, players=10)
    rng = np.random.default_rng(given.seed)
    outcomes = [list(world.outcomes(game, rng)) for game in range(6)]
    games, counting = _timed(lambda: [compare_players(told, world.names) for told in outcomes])
    weights = [
        draw_deal_weights(make_generator(0, "deals", i), SAMPLES, len(game.deals)) for i, game in enumerate(games)
    ]

    def all_at_once() -> list[Evidence]:
        evidence = [sum_game(game, drawn) for game, drawn in zip(games, weights, strict=True)]
        evidence.append(sum_games(games, weights))
        for number, one in enumerate(evidence):
            fit_ratings(one, make_generator(0, "prior", number))
        return evidence

    evidence, rating = _timed(all_at_once)
    one = evidence[0]
    prior = compute_prior(one.met)
    start = fit_many((one.pairs + prior)[None])[0]
    again = one.pairs_drawn + draw_prior(one.met, SAMPLES, make_generator(0, "prior"))
    together, newton = _timed(lambda: fit_many(again, start=start))
    apart, choix = _timed(lambda: np.stack([ilsr_pairwise_dense(pairs, initial_params=start) for pairs in again]))
    differ = float(np.abs(together - apart).max())
    held = counting + rating <= MOST_SECONDS
    data = {
        "about": about("gymposium", "choix", "numpy", "scipy"),
        "matches": sum(map(len, outcomes)),
        "samples": SAMPLES,
        "counting_seconds": round(counting, 2),
        "rating_seconds": round(rating, 2),
        "fits_of_one_game_seconds": round(newton, 3),
        "the_same_by_choix_seconds": round(choix, 3),
        "greatest_difference": differ,
        "held": held,
    }
    rows = [
        ["counting 21,600 matches", f"{counting:.2f}"],
        ["six boards and the joint one, 1,000 samples each", f"{rating:.2f}"],
        ["1,000 fits of one game, all at once", f"{newton:.2f}"],
        ["the same by choix, one after the other", f"{choix:.2f}"],
    ]
    text = table(["what", "CPU seconds"], rows)
    text += f"\nBoth give the same strengths, but for {differ:.0e}. "
    text += f"Counting and rating in {MOST_SECONDS:g} seconds or less: {_yes(held)}.\n"
    write(given.out, "ratings-speed", data, text)
    return held


def run_flip(given: argparse.Namespace) -> bool:
    """Measure and write the results. Return whether the distances are those of brute force."""
    equal, larger, seed = 0, list[dict[str, int]](), 0
    while equal + len(larger) < FLIPS:
        seed += 1
        world = World("flip", (0.02 + 0.02 * (seed % 8),), players=3, groups=20 + seed % 41)
        outcomes = list(world.outcomes(0, np.random.default_rng([given.seed, seed])))
        game = compare_players(outcomes, world.names)
        fewest = _fewest(game)
        if fewest is None:
            continue
        weights = draw_deal_weights(make_generator(0, "deals"), 50, len(game.deals))
        found = find_flip(
            fit_ratings(sum_game(game, weights), make_generator(0, "prior")), partial(sum_game, game), world.groups
        )
        if found is not None and len(found.deals) == fewest:
            equal += 1
        else:
            larger.append({"board": seed, "fewest": fewest, "found": 0 if found is None else len(found.deals)})
        print(f"{equal} of {equal + len(larger)} equal, {seed} boards", flush=True)
    text = f"{equal} of {FLIPS} boards with a set of up to {MOST_REMOVED} deals have the distance of brute force.\n"
    data = {"about": about("gymposium", "numpy"), "boards": seed, "equal": equal, "others": larger}
    write(given.out, "ratings-flip", data, text)
    return not larger


def _fewest(game: Comparisons) -> int | None:
    """Return the fewest deals, up to `MOST_REMOVED`, whose removal changes the leader, by a fit for every set."""
    whole = game.points.sum(axis=0)
    prior, pairs = compute_prior(whole + whole.T > 0.0), game.pairs.sum(axis=0)
    strengths = fit_many((pairs + prior)[None])[0]
    first = int(np.argmax(strengths))
    if np.sort(strengths)[-2] > strengths[first] - TOLERANCE:
        return None
    for size in range(1, MOST_REMOVED + 1):
        sets = np.array(list(combinations(range(len(game.deals)), size)))
        for begin in range(0, len(sets), 4096):
            removed = game.pairs[sets[begin : begin + 4096]].sum(axis=1)
            found = fit_many(pairs - removed + prior)
            if (found[:, first] < found.max(axis=1) - TOLERANCE).any():
                return size
    return None


def _timed(make: Callable[[], _T]) -> tuple[_T, float]:
    start = time.process_time()
    made = make()
    return made, time.process_time() - start


def _yes(held: bool) -> str:
    return "yes" if held else "NO"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    commands = {"speed": run_speed, "coverage": run_coverage, "returns": run_returns, "flip": run_flip}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=tuple(commands))
    parser.add_argument(
        "--repeats", type=int, default=200, help="boards of each kind, for coverage and returns (default: 200)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulated matches (default: 1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args(arguments)
    held = commands[given.what](given)
    sys.exit(not held)


if __name__ == "__main__":
    main()
