"""Confidence intervals for a player's exploitability, from sampled replies.

*Lower bound*: a best response to some of the replies is evaluated against the rest. In expectation, this is the
response's true return, so it is at most the best response's return.

*Upper bound*: the best response to all replies is evaluated against the same replies. In expectation, this is at least
the best response's return against the player, because it also exploits the noise. Each response's return is a sum of
products of independent shares, so its expectation is its return. The expectation of the maximum is at least the maximum
expectation.

Both bounds are then widened by a multiple of their standard error, computed with the delta method.

A state without a reply is unknown. There the lower bound assumes the player's best move, and the upper bound its worst.
The upper bound also lets the opponent see the hidden information.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gymposium.analysis.exact.gains import compute_gains
from gymposium.analysis.exact.graph import OVER, Graph, build_graph
from gymposium.analysis.exact.policy import Policy, State, get_move_probabilities
from gymposium.analysis.exact.response import compute_seat_response
from gymposium.analysis.exact.sampling import FOLDS, PRIOR, SampledPolicy
from gymposium.match.failures import compute_forfeit_returns
from gymposium.players.distribution import MoveDistribution

SCORE = 2.24
"""Standard errors added on either side of an interval.

Each bound misses the true value with a probability of at most 1.25%, because the bounds are estimated separately."""


@dataclass(frozen=True, slots=True)
class ExploitabilityInterval:
    """A 95% confidence interval for an exploitability."""

    low: float
    high: float
    unknown: int
    """Number of the player's information states that the opponent can reach but that have no reply."""


def estimate_exploitability(sampled: SampledPolicy, *, forfeits: bool) -> ExploitabilityInterval:
    """Return an interval for a player's NashConv / 2 in a zero-sum game.

    With `forfeits`, illegal replies forfeit the match; without, only the player's legal moves count. Both bounds are
    clipped at 0."""
    graph = build_graph(sampled.game)
    all_replies = sampled.policy(forfeits=forfeits)
    smoothed = sampled.policy(forfeits=forfeits, prior=PRIOR)
    counts = {state: len(replies) for state, replies in sampled.replies.items()}
    if not forfeits:
        counts = {state: sum(n < len(sampled.moves[state]) for n in sampled.replies[state]) for state in counts}
    parts = [
        (
            sampled.policy(forfeits=forfeits, folds=[n for n in range(FOLDS) if n != fold]),
            sampled.policy(forfeits=forfeits, folds=[fold]),
        )
        for fold in range(FOLDS)
    ]
    low = high = low_variance = high_variance = 0.0
    unknown = 0
    for seat in (0, 1):
        response = compute_seat_response(graph, all_replies, seat).table
        most, missing = _compute_upper_return(graph, all_replies, seat)
        high += most / 2
        unknown += missing
        high_variance += _compute_variance(graph, smoothed, response, seat, counts) / 4
        for others, held_out in parts:
            fitted = compute_seat_response(graph, others, seat).table
            low += _compute_lower_return(graph, held_out, fitted, seat) / FOLDS / 2
            low_variance += _compute_variance(graph, smoothed, fitted, seat, counts) / FOLDS / 4
    low, high = low - SCORE * math.sqrt(low_variance), high + SCORE * math.sqrt(high_variance)
    return ExploitabilityInterval(max(0.0, low), max(0.0, high), unknown)


def _compute_variance(
    graph: Graph,
    policy: Policy,
    response: Mapping[State, MoveDistribution],
    seat: int,
    counts: Mapping[State, int],
) -> float:
    """Return the variance of the return that `response` gets, given reply counts per state."""
    found = compute_gains(graph, policy, response, 1 - seat, paid=seat)
    return math.fsum(gains.variance / counts[state] for state, gains in found.items() if counts.get(state))


def _compute_upper_return(graph: Graph, policy: Policy, seat: int) -> tuple[float, int]:
    """Return an upper bound on an opponent's return in `seat`, and the number of unknown states it can reach.

    After an unknown state, the opponent sees everything."""
    positions = graph.positions
    worth, reach = [0.0] * len(positions), [0.0] * len(positions)
    sees = [False] * len(positions)
    reach[0] = 1.0
    played = {state: get_move_probabilities(distribution) for state, distribution in policy.table.items()}
    unknown: set[State] = set()
    for i, position in enumerate(positions):
        if reach[i] == 0.0:
            continue
        odds = position.odds or (1.0,) * len(position.moves)
        guessed = False
        if position.seat == 1 - seat:
            state = (position.seat, position.view)
            guessed = state not in played
            odds = odds if guessed else played[state][0]
            if guessed:
                unknown.add(state)
        for child, p in zip(position.children, odds, strict=True):
            reach[child] += reach[i] * p
            sees[child] = sees[child] or sees[i] or guessed
    for group in graph.orders[seat]:
        together = []
        for i in group:
            position = positions[i]
            then = [worth[child] for child in position.children]
            if position.seat == OVER:
                worth[i] = position.returns[seat]
            elif position.seat == seat and not sees[i]:
                together.append(i)
            elif position.odds:
                worth[i] = math.fsum(p * w for p, w in zip(position.odds, then, strict=True))
            elif (state := (position.seat, position.view)) in played and position.seat != seat:
                odds, failed = played[state]
                worth[i] = math.fsum(p * w for p, w in zip(odds, then, strict=True))
                worth[i] += failed * compute_forfeit_returns(graph.game, position.seat, position.returns)[seat]
            else:
                worth[i] = max(then)
        if together:
            moves = range(len(positions[together[0]].moves))
            gains = [math.fsum(reach[i] * worth[positions[i].children[move]] for i in together) for move in moves]
            for i in together:
                worth[i] = worth[positions[i].children[gains.index(max(gains))]]
    return worth[0], len(unknown)


def _compute_lower_return(graph: Graph, policy: Policy, response: Mapping[State, MoveDistribution], seat: int) -> float:
    """Return a lower bound on a response's return in `seat`, for any play in unknown states."""
    positions = graph.positions
    worth = [0.0] * len(positions)
    played = {state: get_move_probabilities(distribution) for state, distribution in policy.table.items()}
    for i in reversed(range(len(positions))):
        position = positions[i]
        then = [worth[child] for child in position.children]
        state = (position.seat, position.view)
        if position.seat == OVER:
            worth[i] = position.returns[seat]
        elif position.seat == seat:
            worth[i] = then[response[state].probabilities.index(1.0)]
        elif position.odds or state in played:
            odds, failed = (position.odds, 0.0) if position.odds else played[state]
            worth[i] = math.fsum(p * w for p, w in zip(odds, then, strict=True))
            if failed > 0.0:
                worth[i] += failed * compute_forfeit_returns(graph.game, position.seat, position.returns)[seat]
        else:
            worth[i] = min(then)
    return worth[0]
