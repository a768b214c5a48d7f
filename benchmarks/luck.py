"""How much narrower intervals get when returns are corrected for luck, and whether they still hold the truth.

Ten made-up policies (random, sharp, near an equilibrium, half random) play duplicate deals against `cfr-1000` and
against random play, whose policies are known, and against another random policy, which is not. For each pairing the
mean return has an interval from the plain returns and one from those that are corrected as on a board, and the truth
is known by traversal. The figures are the median ratio of the widths, and how often the intervals hold the truth.

Each row is saved when it is done, so the same command resumes after Ctrl-C. (Ten minutes of one core.)
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import median

from benchmarks.exploitability import SimulatedPlayer
from benchmarks.report import RESULTS, KeptRows, Row, table
from gymposium import load_game
from gymposium.analysis.exact import Policy, compute_value, tabulate_policy
from gymposium.analysis.exact.corrected import LuckCorrector
from gymposium.analysis.exact.fixed_table import compute_fixed_table
from gymposium.analysis.exact.graph import OVER, build_graph
from gymposium.analysis.exact.policy import get_move_probabilities
from gymposium.games.protocol import CHANCE, Event
from gymposium.match.failures import compute_forfeit_returns
from gymposium.players.random import RandomPlayer
from gymposium.util.streams import stream
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.bootstrap import draw_deal_weights, make_generator
from gymposium_arena.ratings.luck import correct_for_luck
from gymposium_arena.ratings.returns import compute_means, sum_returns

GAMES = {"kuhn_poker": 1.7, "leduc_poker": 1.5, "liars_dice(dice_sides=4)": None}
"""The games, each with the least median ratio of widths against the table (None: reported)."""
POLICIES = (*["random"] * 4, *["sharp"] * 2, *["near an equilibrium"] * 2, *["mixed"] * 2)
OPPONENTS = ("table", "random", "unknown")
DEALS = (60, 200)
REPEATS, SAMPLES = 100, 400
LEAST_HELD, MOST_WIDER = 0.92, 1.02
VERSIONS = ("gymposium", "numpy", "open_spiel")


def measured(name: str, deals: int, number: int, opponent: str) -> Row:
    """Return the intervals of one pairing over all repeats.

    The row has the median ratio of the plain width to the corrected one, and the shares of intervals that contain the
    truth (`held`, `plain_held`).
    """
    game, fixed = load_game(name), compute_fixed_table(load_game(name)).policy
    kind = POLICIES[number]
    policy = SimulatedPlayer(game, kind, number, fixed.table, mixed=0.5).policy
    other = {
        "table": fixed,
        "random": tabulate_policy(game, RandomPlayer()),
        "unknown": SimulatedPlayer(game, "random", 100 + number, fixed.table).policy,
    }[opponent]
    known = None if opponent == "unknown" else other
    corrector = LuckCorrector(fixed)
    truth = compute_value(policy, other).mean.mean_return
    held = plain_held = 0
    ratios = []
    for repeat in range(REPEATS):
        rng = stream(number, name, opponent, repeat)
        outcomes = list(_outcomes(policy, other, known, corrector, deals, rng))
        (low, high), (less_low, less_high) = (
            _interval(some, repeat, deals, game.utility_range) for some in (outcomes, correct_for_luck(outcomes))
        )
        plain_held += low <= truth <= high
        held += less_low <= truth <= less_high
        ratios.append((high - low) / (less_high - less_low))
    return {
        "game": name,
        "deals": deals,
        "number": number,
        "kind": kind,
        "opponent": opponent,
        "ratio": median(ratios),
        "held": held / REPEATS,
        "plain_held": plain_held / REPEATS,
    }


def _interval(
    outcomes: Sequence[MatchOutcome], seed: int, deals: int, bounds: tuple[float, float]
) -> tuple[float, float]:
    returns = sum_returns(outcomes, ["a", "b"])
    means = compute_means(returns, draw_deal_weights(make_generator(seed, "luck"), SAMPLES, deals), bounds)
    return float(means.low[0]), float(means.high[0])


def _outcomes(
    policy: Policy, other: Policy, known: Policy | None, corrector: LuckCorrector, deals: int, rng: random.Random
) -> Iterator[MatchOutcome]:
    """Yield the matches of all deals, each from both seats. Both have the same chance events, as far as moves allow."""
    for deal in range(deals):
        seed = rng.getrandbits(48)
        for seat in (0, 1):
            seated = (policy, other) if seat == 0 else (other, policy)
            events, returns, forfeits = _played(seated, random.Random(seed), rng)
            corrected = corrector.correct_returns(
                events, returns, (None, known) if seat == 0 else (known, None), forfeits
            )
            players = ("a", "b") if seat == 0 else ("b", "a")
            yield MatchOutcome("", str(deal), players, returns, forfeits, f"{deal}-{seat}", corrected)


def _played(
    seated: tuple[Policy, Policy], chance: random.Random, rng: random.Random
) -> tuple[list[Event], tuple[float, ...], int | None]:
    """Return one match: its events, returns, and the seat that forfeits."""
    graph, here, events = build_graph(seated[0].game), 0, list[Event]()
    while graph.positions[here].seat != OVER:
        position = graph.positions[here]
        odds, failed, draw = position.odds, 0.0, chance
        if position.seat != CHANCE:
            odds, failed = get_move_probabilities(seated[position.seat].table[position.seat, position.view])
            draw = rng
        if failed and draw.random() < failed:
            return events, compute_forfeit_returns(graph.game, position.seat, position.returns), position.seat
        (move,) = draw.choices(range(len(odds)), odds)
        events.append(Event(position.seat, position.moves[move]))
        here = position.children[move]
    return events, graph.positions[here].returns, None


def text(rows: Sequence[Row]) -> str:
    """Return the table and its verdict, as Markdown."""
    lines, verdicts = [], []
    for name, least in GAMES.items():
        for opponent, deals in product(OPPONENTS, DEALS):
            some = [row for row in rows if (row["game"], row["opponent"], row["deals"]) == (name, opponent, deals)]
            if not some:
                continue
            ratios = [row["ratio"] for row in some]
            held = sum(row["held"] for row in some) / len(some)
            plain = sum(row["plain_held"] for row in some) / len(some)
            lines.append(
                [
                    f"{name}, {opponent}, {deals}",
                    f"{len(some)}",
                    f"{median(ratios):.2f}",
                    f"{min(ratios):.2f}",
                    f"{max(ratios):.2f}",
                    f"{held:.3f}",
                    f"{min(row['held'] for row in some):.2f}",
                    f"{plain:.3f}",
                ]
            )
            if opponent == "table" and least is not None:
                verdicts.append(f"{name}, {deals} deals: {least} asked against the table, {median(ratios):.2f} found.")
    head = [
        "game, opponent, deals",
        "policies",
        "narrower, median",
        "least",
        "most",
        "held",
        "held, least",
        "held, plain",
    ]
    wider = [1 / row["ratio"] for row in rows]
    verdicts.append(f"Widest beside the plain interval: {max(wider):.3f} ({MOST_WIDER} asked).")
    verdicts.append(f"Intervals that hold the truth: {LEAST_HELD} asked in each row.")
    return table(head, lines) + "\n" + "\n".join(f"{one}\n" for one in verdicts)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.luck", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    kept = KeptRows(given.out, "luck", VERSIONS, text)
    for name in GAMES:
        for opponent, deals in product(OPPONENTS, DEALS):
            for number in range(len(POLICIES)):
                if {"game": name, "opponent": opponent, "deals": deals, "number": number} not in kept:
                    kept.add(measured(name, deals, number, opponent))
    kept.show()


if __name__ == "__main__":
    main()
