"""Judges: what a position is worth to a seat before its move and after it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from gymposium.analysis.exact import MOST_POSITIONS, TooLarge
from gymposium.analysis.exact.fixed_table import fixed_table
from gymposium.analysis.exact.graph import graph_of
from gymposium.analysis.exact.minimax import Minimax, check_solvable, children
from gymposium.analysis.exact.response import Answer, answer
from gymposium.errors import BadOption, GymposiumError, NoSampler
from gymposium.games.protocol import Game, Match
from gymposium.players.mcts import LEAST_WORLDS, MOST_WORLDS
from gymposium.players.protocol import MatchContext
from gymposium.players.search import engine
from gymposium.players.search.refusal import refuse
from gymposium.players.search.tree import mean_return
from gymposium.util.streams import stream

SIMULATIONS = 10_000
"""Simulations of each position that a search judges by default."""
PROOFS = 10
"""Positions that a search goes through at the end of a match to solve it, for each of its simulations."""


class NotJudged(GymposiumError):
    """The moves of a game are not judged. The message says why."""


@dataclass(frozen=True, slots=True)
class JudgedDecision:
    """A decision of a match that is to be judged."""

    match: Match
    """The match before the moves were made."""
    seat: int
    move: str | None
    """The seat's own move; None if it made none."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What a decision is worth to its seat, as a return."""

    before: float
    """With the best move."""
    after: float | None
    """With the move that was made; None if none was."""
    best: str | None = None
    """A move of this worth, if the judge names one."""
    unlikely: bool = False
    """True if the judge's table never leads there, so that what is hidden is weighed by the fewest moves that the table
    never plays."""


class Judge(Protocol):
    """Protocol of a judge of one game."""

    name: str
    """`exact`, `cfr-N` or `search-N`."""
    digest: str
    """The digest of the table of `cfr-N`; empty for other judges."""
    exact: bool
    """False if the worth of a decision is an estimate."""

    def judge(self, choices: Sequence[JudgedDecision], seed: int) -> list[Worth | None]:
        """Return what each decision of a match was worth, in their order; None where the judge cannot tell. Random
        draws follow from `seed`."""
        ...


def judge_of(game: Game, name: str | None = None) -> Judge:
    """Return a judge of a game: `exact`, `cfr-N`, `search-N`, or (None) the first of these that can judge it.

    Raises `NotJudged` with the reason if the game cannot be judged, or not by this one, and `BadOption` if no judge has
    this name."""
    return _judge_of(game, name)


@lru_cache(maxsize=16)
def _judge_of(game: Game, name: str | None) -> Judge:
    if game.seats != 2 or game.spec.utility != "zero_sum":
        raise NotJudged(f"{game.name}: moves are judged in zero-sum games with two seats.")
    if name is not None:
        return _named(game, name)
    with suppress(NotJudged):
        return ExactJudge(game)
    with suppress(NotJudged):
        return TableJudge(game)
    return SearchJudge(game, SIMULATIONS)


def _named(game: Game, name: str) -> Judge:
    if name == "exact":
        return ExactJudge(game)
    if match := re.fullmatch(r"(cfr|search)-([1-9]\d{0,8})", name):
        return (TableJudge if match[1] == "cfr" else SearchJudge)(game, int(match[2]))
    raise BadOption(f"There is no judge {name!r}. Write exact, cfr-N or search-N.")


class ExactJudge:
    """Minimax values, in games that hide nothing, without chance and with at most 400,000 positions."""

    name = "exact"
    digest = ""
    exact = True

    def __init__(self, game: Game) -> None:
        try:
            self._solved = Minimax(game, 0, MOST_POSITIONS, every=True)
            self._solved.value(game.new(0))
        except TooLarge as error:
            raise NotJudged(str(error)) from error

    def judge(self, choices: Sequence[JudgedDecision], seed: int) -> list[Worth | None]:
        return [_solved(self._solved, choice) for choice in choices]


def _solved(values: Minimax, choice: JudgedDecision) -> Worth:
    """The minimax worth of a decision. Raises `TooLarge` if too many positions can follow."""
    sign = 1.0 if choice.seat == 0 else -1.0
    worth = {move: sign * values.value(child) for move, child in children(choice.match)}
    best = max(worth.values())
    made = None if choice.move is None else worth[choice.move]
    return Worth(best, made, next(move for move in worth if worth[move] == best))


class TableJudge:
    """The best response to a fixed table, in games that hide something and have at most 400,000 positions.

    The table is the average policy of N iterations of CFR+ (the player `cfr-N`), for both seats. A move is worth the
    mean return of the best response after it; what is hidden is weighed by chance and the table. So a decision is
    judged by what its seat knew, against an opponent near an equilibrium, and not by what the opponent happened to
    hold."""

    exact = True

    def __init__(self, game: Game, iterations: int | None = None) -> None:
        """`iterations` are as in `fixed_table`."""
        try:
            table = fixed_table(game, iterations)
        except TooLarge as error:
            raise NotJudged(str(error)) from error
        self.name, self.digest = table.name, table.digest
        graph = graph_of(game)
        self._answers: tuple[Answer, Answer] = (answer(graph, table.policy, 0), answer(graph, table.policy, 1))

    def judge(self, choices: Sequence[JudgedDecision], seed: int) -> list[Worth | None]:
        return [self._worth(choice) for choice in choices]

    def _worth(self, choice: JudgedDecision) -> Worth:
        found, state = self._answers[choice.seat], (choice.seat, choice.match.view(choice.seat))
        worth, moves = found.worth[state], found.table[state].moves
        best = max(worth)
        made = None if choice.move is None else worth[moves.index(choice.move)]
        return Worth(best, made, moves[worth.index(best)], state in found.unlikely)


class SearchJudge:
    """Search with N simulations, which estimates.

    Without chance and hidden information the end of a match is solved, as far as 10 N positions lead back from it.
    Before that, the position before the move and the one after it are searched, each with N simulations: by OpenSpiel's
    search in its own games. With hidden information, the simulations begin in worlds that the seat cannot tell from the
    true one, and those of the move that was made all begin with it."""

    digest = ""
    exact = False

    def __init__(self, game: Game, simulations: int) -> None:
        self.name = f"search-{simulations}"
        try:
            refuse(game, self.name)
        except NoSampler as error:
            raise NotJudged(str(error)) from error
        self._game, self._simulations = game, simulations

    def judge(self, choices: Sequence[JudgedDecision], seed: int) -> list[Worth | None]:
        found: list[Worth | None] = [None] * len(choices)
        known = self._ending(choices, found)
        for number, choice in enumerate(choices[:known]):
            found[number] = self._search(choice, stream(seed, "review", number))
        return found

    def _ending(self, choices: Sequence[JudgedDecision], found: list[Worth | None]) -> int:
        """Solve the end of the match, and return from which decision on it is solved."""
        known = len(choices)
        with suppress(TooLarge):
            check_solvable(self._game)
            solved = Minimax(self._game, 0, PROOFS * self._simulations)
            for number, choice in reversed([*enumerate(choices)]):
                found[number] = _solved(solved, choice)
                known = number
        return known

    def _search(self, choice: JudgedDecision, rng: random.Random) -> Worth | None:
        """The estimated worth of a decision; None if no world agrees with what the seat saw."""
        if engine.is_searched(choice.match):
            before, after = engine.value(choice.match, choice.seat, self._simulations, rng), None
            if choice.move is not None:
                child = choice.match.fork(rng)
                child.apply({choice.seat: choice.move})
                after = engine.value(child, choice.seat, self._simulations, rng)
            return Worth(before if after is None else max(before, after), after)
        count = min(self._simulations, MOST_WORLDS, max(LEAST_WORLDS, self._simulations // 4))
        context = MatchContext(choice.match, "review", rng.getrandbits(48))
        _, worlds = context.ask(choice.seat).sampler.worlds(count, rng)
        if not worlds:
            return None
        before, after = mean_return(worlds, choice.seat, self._simulations, rng), None
        if choice.move is not None:
            after = mean_return(worlds, choice.seat, self._simulations, rng, choice.move)
        return Worth(before if after is None else max(before, after), after)
