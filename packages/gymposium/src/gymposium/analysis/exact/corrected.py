"""Match returns corrected for luck: the same mean with less variance.

Luck comes from chance events and from the random moves of a player with a known policy. A table fixed before the match
measures this luck, which is then removed (AIVAT: Burch, Schmid, Moravčík, Morrill and Bowling, 2018, AIVAT: A New
Variance Reduction Technique for Agent Evaluation in Imperfect Information Games). With any table, the corrected return
has the mean of the plain one. A good table removes more variance.

- *One policy is known.* For the other seat, the match is a decision process with known odds: chance and the known
  policy determine its next information state and its final return. The corrected return starts with the table's value
  of the match. For each of the seat's moves, it adds the expected value after the move minus the value before it. This
  averages over all hands that the known player may hold (AIVAT's imaginary observations).
- *Neither policy is known.* Each chance event adds the value before it minus the value after it to the return.
- *Both policies are known.* The corrected return is the exact value.

All values assume that both seats play the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from gymposium.analysis.exact.graph import OVER, Graph, build_graph
from gymposium.analysis.exact.policy import Policy, get_move_probabilities
from gymposium.analysis.exact.value import compute_value
from gymposium.errors import BadRecord
from gymposium.games.protocol import CHANCE, Event
from gymposium.match.failures import compute_forfeit_returns

Known = tuple[Policy | None, Policy | None]
"""Policy per seat; None if unknown."""


@dataclass(frozen=True, slots=True)
class _DecisionProcess:
    """A match from one seat's perspective, against chance and a known policy."""

    start: float
    """The seat's expected return in the first information state."""
    before: dict[str, float]
    """Value of each information state if both seats play the table."""
    after: dict[tuple[str, int], float]
    """Expected value after each move, by state and move index."""


class LuckCorrector:
    """A corrector of match returns in one game, based on a table's values."""

    def __init__(self, table: Policy) -> None:
        """`table` covers every information state of both seats, like `cfr-N`.

        Raises `TooLarge` if `build_graph` does."""
        self._table = table
        self._graph = build_graph(table.game)
        self._processes: dict[tuple[int, int], _DecisionProcess] = {}
        self._exact: dict[tuple[int, int], tuple[float, float]] = {}
        self._known: dict[int, Policy] = {}
        """The policies in `_processes` and `_exact` by `id`. Keeping them alive keeps each `id` unique."""

    def correct_returns(
        self, events: Sequence[Event], returns: Sequence[float], policies: Known, forfeits: int | None = None
    ) -> tuple[float, float]:
        """Return each seat's corrected return.

        `events` cover the whole match, `returns` are its uncorrected returns, and `forfeits` is the seat whose illegal
        reply ended it. Raises `BadRecord` if the events are not a match of the game, or if a known policy cannot
        produce them."""
        line = [*self._follow(events)]
        first, second = policies
        if first is not None and second is not None:
            return self._compute_exact_returns(first, second)
        other = first or second
        if other is None or (forfeits is not None and policies[forfeits] is not None):
            luck = math.fsum(self._get_luck(i, move) for i, move in line if self._graph.positions[i].seat == CHANCE)
            return returns[0] - luck, returns[1] + luck
        seat = 0 if first is None else 1
        mine = self._correct_return(line, seat, other, forfeits)
        total = returns[0] + returns[1]
        return (mine, total - mine) if seat == 0 else (total - mine, mine)

    def _follow(self, events: Sequence[Event]) -> Iterator[tuple[int, int]]:
        """Yield the position before each event, and the event as a move index.

        The last item is the final position with -1."""
        positions, here = self._graph.positions, 0
        for event in events:
            position = positions[here]
            if position.seat != event.seat or event.move not in position.moves:
                raise BadRecord(
                    f"{event.move!r} by seat {event.seat} is not possible in {self._graph.game.name} at this point. "
                    "Check that the record belongs to this game."
                )
            move = position.moves.index(event.move)
            yield here, move
            here = position.children[move]
        yield here, -1

    def _get_luck(self, i: int, move: int) -> float:
        """Return how much a chance event changed the first seat's expected return."""
        position, values = self._graph.positions[i], self._values
        return values[position.children[move]] - values[i]

    def _correct_return(self, line: Sequence[tuple[int, int]], seat: int, other: Policy, forfeits: int | None) -> float:
        """Return a seat's corrected return against a known policy."""
        process, positions = self._get_process(seat, other), self._graph.positions
        found = process.start
        for i, move in line:
            position = positions[i]
            if position.seat != seat:
                continue
            before = process.before[position.view]
            if move >= 0:
                after = process.after.get((position.view, move))
                if after is None:
                    raise BadRecord(
                        f"{other.player} cannot have led seat {seat} to {position.view!r}. Check that the record "
                        "belongs to this player."
                    )
            elif forfeits == seat:
                after = compute_forfeit_returns(self._graph.game, seat, position.returns)[seat]
            else:
                continue
            found += after - before
        return found

    @cached_property
    def _values(self) -> list[float]:
        """Return the first seat's expected return from each position, if both seats play the table."""
        return _compute_values(self._graph, self._table)

    def _compute_exact_returns(self, first: Policy, second: Policy) -> tuple[float, float]:
        """Return each seat's exact return between two known policies."""
        key = (id(first), id(second))
        if key not in self._exact:
            self._known |= {id(first): first, id(second): second}
            mean = compute_value(first, second).seats[0].mean_return
            self._exact[key] = (mean, compute_value(second, first).seats[1].mean_return)
        return self._exact[key]

    def _get_process(self, seat: int, other: Policy) -> _DecisionProcess:
        key = (seat, id(other))
        if key not in self._processes:
            self._known[id(other)] = other
            self._processes[key] = self._build_process(seat, other)
        return self._processes[key]

    def _build_process(self, seat: int, other: Policy) -> _DecisionProcess:
        positions, values = self._graph.positions, self._values
        sign = 1.0 if seat == 0 else -1.0
        last: list[tuple[str, int] | None] = [None] * len(positions)  # the seat's last state and move
        reach, usual = [0.0] * len(positions), [0.0] * len(positions)  # under chance and `other`, and under the table
        reach[0] = usual[0] = 1.0
        met: dict[str, float] = {}
        before: dict[str, float] = {}
        weight: dict[str, float] = {}
        gains: dict[tuple[str, int] | None, float] = {}
        count: dict[str, tuple[float, int]] = {}
        for i, position in enumerate(positions):
            if position.seat == seat:
                met[position.view] = met.get(position.view, 0.0) + reach[i]
                weight[position.view] = weight.get(position.view, 0.0) + usual[i]
                before[position.view] = before.get(position.view, 0.0) + usual[i] * sign * values[i]
                total, number = count.get(position.view, (0.0, 0))
                count[position.view] = (total + sign * values[i], number + 1)
                for move, child in enumerate(position.children):
                    last[child], reach[child], usual[child] = (position.view, move), reach[i], usual[i]
                continue
            odds, table_odds, failed = position.odds, position.odds, 0.0
            if position.seat >= 0:
                odds, failed = get_move_probabilities(other.table[position.seat, position.view])
                table_odds, _ = get_move_probabilities(self._table.table[position.seat, position.view])
            if position.seat == OVER:
                gains[last[i]] = gains.get(last[i], 0.0) + reach[i] * position.returns[seat]
            elif failed > 0.0:
                lost = compute_forfeit_returns(self._graph.game, position.seat, position.returns)[seat]
                gains[last[i]] = gains.get(last[i], 0.0) + reach[i] * failed * lost
            for child, p, q in zip(position.children, odds, table_odds, strict=True):
                last[child], reach[child], usual[child] = last[i], reach[i] * p, usual[i] * q
        # a state that the table never reaches has the mean of its positions
        known = {view: before[view] / weight[view] if weight[view] else count[view][0] / count[view][1] for view in met}
        led: dict[str, tuple[str, int] | None] = {}
        for i, position in enumerate(positions):
            if position.seat == seat:
                led.setdefault(position.view, last[i])
        for view, where in led.items():
            gains[where] = gains.get(where, 0.0) + met[view] * known[view]
        after = {key: gain / met[key[0]] for key, gain in gains.items() if key is not None and met[key[0]] > 0.0}
        return _DecisionProcess(gains.get(None, 0.0), known, after)


def _compute_values(graph: Graph, table: Policy) -> list[float]:
    values = [0.0] * len(graph.positions)
    for i in reversed(range(len(graph.positions))):
        position = graph.positions[i]
        if position.seat == OVER:
            values[i] = position.returns[0]
            continue
        odds = (
            position.odds
            if position.seat == CHANCE
            else get_move_probabilities(table.table[position.seat, position.view])[0]
        )
        values[i] = math.fsum(p * values[child] for p, child in zip(odds, position.children, strict=True))
    return values
