"""Judges, which value a position for a seat before and after its move."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from gymposium.analysis.exact import MOST_POSITIONS, TooLarge
from gymposium.analysis.exact.fixed_table import compute_fixed_table
from gymposium.analysis.exact.graph import build_graph, check_small
from gymposium.analysis.exact.minimax import Minimax, check_solvable, list_children
from gymposium.analysis.exact.response import SeatResponse, compute_seat_response
from gymposium.analysis.exact.size import MOST_UNASKED
from gymposium.errors import BadOption, GymposiumError, NoSampler
from gymposium.games.protocol import Game, Match
from gymposium.players.mcts import LEAST_WORLDS, MOST_WORLDS
from gymposium.players.protocol import MatchContext
from gymposium.players.search import engine
from gymposium.players.search.refusal import check_searchable
from gymposium.players.search.tree import estimate_return
from gymposium.util.streams import stream

SIMULATIONS = 10_000
"""Default number of simulations per position judged by search."""
MOST_TABLED = 1_000
"""Maximum number of positions in a game whose table is computed without a request. It takes about two seconds."""
PROOFS = 10
"""Number of positions per simulation that the search judge may solve at the end of a match."""


class UnjudgeableGame(GymposiumError):
    """A game whose moves cannot be judged. The message says why."""


@dataclass(frozen=True, slots=True)
class JudgedDecision:
    """A decision to judge."""

    match: Match
    """The match before the moves."""
    seat: int
    move: str | None
    """The seat's move; None if it did not choose one."""


@dataclass(frozen=True, slots=True)
class DecisionValue:
    """The value of a decision, as a return of the seat that made it."""

    before: float
    """Value with the best move."""
    after: float | None
    """Value with the actual move; None without one."""
    best: str | None = None
    """A move with the value `before`, if the judge names one."""
    unlikely: bool = False
    """True if the judge's table never reaches the position.

    Then only the hidden states that need the fewest never-played moves count."""


class Judge(Protocol):
    """Protocol of a judge for one game."""

    name: str
    """`exact`, `cfr-N` or `search-N`."""
    digest: str
    """Digest of the `cfr-N` table; empty for other judges."""
    exact: bool
    """True if values are exact, False if they are estimates."""

    def judge(self, choices: Sequence[JudgedDecision], seed: int) -> list[DecisionValue | None]:
        """Return the value of each decision in a match, in order. A value is None if the judge cannot compute it.

        `seed` determines random draws."""
        ...


def choose_judge(game: Game, name: str | None = None) -> Judge:
    """Return a game's judge: `exact`, `cfr-N`, `search-N`, or by default the first of these that can judge it.

    Raises `UnjudgeableGame` with the reason if the game cannot be judged, at all or by the named judge. Raises
    `BadOption` for an unknown judge."""
    return _choose_judge(game, name)


def choose_quick_judge(game: Game) -> Judge:
    """Return a game's exact judge, for reviews that the user did not request, as in a training run.

    It is the judge of `choose_judge`, for games with at most `MOST_UNASKED` positions, or `MOST_TABLED` with hidden
    information. Raises `UnjudgeableGame` with the reason for other games."""
    _check_judgeable(game)
    with suppress(TooLarge):
        check_solvable(game)
        return ExactJudge(game, MOST_UNASKED)
    try:
        check_small(game, MOST_TABLED)
    except TooLarge as error:
        raise UnjudgeableGame(str(error)) from error
    return TableJudge(game)


@lru_cache(maxsize=16)
def _choose_judge(game: Game, name: str | None) -> Judge:
    _check_judgeable(game)
    if name is not None:
        return _make_judge(game, name)
    with suppress(UnjudgeableGame):
        return ExactJudge(game, MOST_POSITIONS)
    with suppress(UnjudgeableGame):
        return TableJudge(game)
    return SearchJudge(game, SIMULATIONS)


def _check_judgeable(game: Game) -> None:
    if game.seats != 2 or game.spec.utility != "zero_sum":
        raise UnjudgeableGame(f"{game.name}: moves can be judged only in zero-sum games with two seats.")


def _make_judge(game: Game, name: str) -> Judge:
    if name == "exact":
        return ExactJudge(game, MOST_POSITIONS)
    if match := re.fullmatch(r"(cfr|search)-([1-9]\d{0,8})", name):
        return (TableJudge if match[1] == "cfr" else SearchJudge)(game, int(match[2]))
    raise BadOption(f"Unknown judge {name!r}. Use exact, cfr-N or search-N.")


class ExactJudge:
    """Minimax values, for games with perfect information and no chance."""

    name = "exact"
    digest = ""
    exact = True

    def __init__(self, game: Game, most: int) -> None:
        """Solve the game. Raises `UnjudgeableGame` if it has more than `most` positions."""
        try:
            self._solved = Minimax(game, 0, most, every=True)
            self._solved.value(game.new(0))
        except TooLarge as error:
            raise UnjudgeableGame(str(error)) from error

    def judge(self, choices: Sequence[JudgedDecision], seed: int) -> list[DecisionValue | None]:
        return [_solve(self._solved, choice) for choice in choices]


def _solve(values: Minimax, choice: JudgedDecision) -> DecisionValue:
    """Return a decision's minimax value. Raises `TooLarge` if the position has too many successors."""
    sign = 1.0 if choice.seat == 0 else -1.0
    worth = {move: sign * values.value(child) for move, child in list_children(choice.match)}
    best = max(worth.values())
    made = None if choice.move is None else worth[choice.move]
    return DecisionValue(best, made, next(move for move in worth if worth[move] == best))


class TableJudge:
    """The best response to a fixed table, for games with hidden information and at most 400,000 positions.

    The table is the average policy after N iterations of CFR+ (the player `cfr-N`), for both seats. A move's value is
    the best response's mean return after it, with hidden information weighted by chance and the table. So a decision is
    judged by what its seat knew, against a near-equilibrium opponent. The opponent's actual hidden information does not
    matter."""

    exact = True

    def __init__(self, game: Game, iterations: int | None = None) -> None:
        """`iterations` are as in `compute_fixed_table`."""
        try:
            table = compute_fixed_table(game, iterations)
        except TooLarge as error:
            raise UnjudgeableGame(
                str(error).replace("mcts-N", "search-N")
            ) from error  # the judge with this player's search
        self.name, self.digest = table.name, table.digest
        graph = build_graph(game)
        self._answers: tuple[SeatResponse, SeatResponse] = (
            compute_seat_response(graph, table.policy, 0),
            compute_seat_response(graph, table.policy, 1),
        )

    def judge(self, choices: Sequence[JudgedDecision], seed: int) -> list[DecisionValue | None]:
        return [self._evaluate(choice) for choice in choices]

    def _evaluate(self, choice: JudgedDecision) -> DecisionValue:
        found, state = self._answers[choice.seat], (choice.seat, choice.match.view(choice.seat))
        worth, moves = found.worth[state], found.table[state].moves
        best = max(worth)
        made = None if choice.move is None else worth[moves.index(choice.move)]
        return DecisionValue(best, made, moves[worth.index(best)], state in found.unlikely)


class SearchJudge:
    """Estimates by search with N simulations.

    In games without chance or hidden information, the end of a match is solved, within a budget of 10 N positions.
    Earlier positions are searched with N simulations before the move and N after it. OpenSpiel games use OpenSpiel's
    search.

    With hidden information, each simulation starts in a state that the seat cannot distinguish from the true one. The
    simulations for the actual move all begin with that move."""

    digest = ""
    exact = False

    def __init__(self, game: Game, simulations: int) -> None:
        self.name = f"search-{simulations}"
        try:
            check_searchable(game, self.name)
        except NoSampler as error:
            raise UnjudgeableGame(str(error)) from error
        self._game, self._simulations = game, simulations

    def judge(self, choices: Sequence[JudgedDecision], seed: int) -> list[DecisionValue | None]:
        found: list[DecisionValue | None] = [None] * len(choices)
        known = self._solve_ending(choices, found)
        for number, choice in enumerate(choices[:known]):
            found[number] = self._search(choice, stream(seed, "review", number))
        return found

    def _solve_ending(self, choices: Sequence[JudgedDecision], found: list[DecisionValue | None]) -> int:
        """Solve the end of the match, and return the index of the first solved decision."""
        known = len(choices)
        with suppress(TooLarge):
            check_solvable(self._game)
            solved = Minimax(self._game, 0, PROOFS * self._simulations)
            for number, choice in reversed([*enumerate(choices)]):
                found[number] = _solve(solved, choice)
                known = number
        return known

    def _search(self, choice: JudgedDecision, rng: random.Random) -> DecisionValue | None:
        """Estimate a decision's value; None if no state matches the seat's observations."""
        if engine.is_searched(choice.match):
            before, after = engine.estimate_value(choice.match, choice.seat, self._simulations, rng), None
            if choice.move is not None:
                child = choice.match.fork(rng)
                child.apply({choice.seat: choice.move})
                after = engine.estimate_value(child, choice.seat, self._simulations, rng)
            return DecisionValue(before if after is None else max(before, after), after)
        count = min(self._simulations, MOST_WORLDS, max(LEAST_WORLDS, self._simulations // 4))
        context = MatchContext(choice.match, "review", rng.getrandbits(48))
        _, worlds = context.ask(choice.seat).sampler.worlds(count, rng)
        if not worlds:
            return None
        before, after = estimate_return(worlds, choice.seat, self._simulations, rng), None
        if choice.move is not None:
            after = estimate_return(worlds, choice.seat, self._simulations, rng, choice.move)
        return DecisionValue(before if after is None else max(before, after), after)
