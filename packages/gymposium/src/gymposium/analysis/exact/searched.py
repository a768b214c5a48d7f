"""A strong response to a player, found by search, in games that are too large to traverse.

Matches are simulated against the player. In each of its information states the response tries the moves by UCB1, as in
UCT (Kocsis & Szepesvári, 2006, Bandit Based Monte-Carlo Planning). A match adds one state to those that are known and
is played at random from there on, so that memory grows with the number of matches and not with their lengths (Coulom,
2006, Efficient Selectivity and Backup Operators in Monte-Carlo Tree Search). The counts of what followed on each move
are then solved backwards. What the response gets from the player is a lower bound of the exploitability: it has to be
played in matches that were not used to find it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gymposium.analysis.exact.policy import as_played
from gymposium.analysis.exact.sampling import move_of
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game, Match
from gymposium.match.failures import forfeit_returns
from gymposium.players.asking import ask_distributions, ask_player
from gymposium.players.protocol import Ask, Distributes, MatchContext, Player
from gymposium.util.streams import stream

SIMULATIONS = 400_000
"""Number of simulated matches for each seat of the response by default."""
AT_ONCE = 256
"""Number of matches that are simulated at the same time, so that the player is asked in batches."""
MOST_KEPT = 100_000
"""Number of states of the player whose move probabilities are kept; then they are asked for again."""
EXPLORATION = 10.0
"""Weight of the exploration term of UCB1, in standard deviations of the returns. What is played in the end does not
depend on how often a move was tried, so much is explored."""
CAUTION = 1.0
"""Standard errors by which a move is worth less than the mean of its returns when the response is chosen."""


@dataclass(slots=True)
class _Node:
    """An information state of the response, and what was tried in it."""

    moves: tuple[str, ...]
    visits: int = 0
    counts: list[int] = field(init=False)
    totals: list[float] = field(init=False)
    """Sum of the returns of the matches in which each move was tried."""
    ends: list[float] = field(init=False)
    """The part of `totals` of the matches in which no known state followed."""
    after: list[dict[str, int]] = field(init=False)
    """For each move how often each next information state followed."""
    value: float = math.nan
    best: int = 0

    def __post_init__(self) -> None:
        size = len(self.moves)
        self.counts, self.totals, self.ends = [0] * size, [0.0] * size, [0.0] * size
        self.after = [{} for _ in self.moves]


def searched_response(
    game: Game,
    player: Player,
    seat: int,
    simulations: int = SIMULATIONS,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _: None,
) -> dict[str, str]:
    """Return a response to a player in this seat: a move for each information state that is known in the end, by what
    the seat knows (`Match.view`).

    `advance` is told how many more matches were simulated. A player that knows the probabilities of its moves is asked
    once in each of its states, and another one each time. Raises `GymposiumError` for a game without two seats and
    lists of legal moves."""
    if game.seats != 2 or game.spec.free_text:
        raise GymposiumError(f"{game.name}: responses are searched in games with two seats and lists of legal moves.")
    search = _Search(game, player, seat, seed)
    for begin in range(0, simulations, AT_ONCE):
        count = min(AT_ONCE, simulations - begin)
        search.simulate(range(begin, begin + count))
        advance(count)
    return search.response()


class _Search:
    """The information states that were visited so far."""

    def __init__(self, game: Game, player: Player, seat: int, seed: int) -> None:
        self._game, self._player, self._seat, self._seed = game, player, seat, seed
        self._nodes: dict[str, _Node] = {}
        self._known: dict[str, tuple[tuple[float, ...], float]] = {}
        """What a player that gives probabilities does, by what its seat knows."""
        self._ended = 0
        self._mean = 0.0
        self._squares = 0.0
        low, high = game.utility_range
        self._spread = (high - low) / 2

    def simulate(self, numbers: Sequence[int]) -> None:
        """Simulate the matches with these numbers to their ends."""
        live = [_Simulated.begin(self._game, stream(self._seed, "search", self._seat, number)) for number in numbers]
        while live:
            self._answer(live)
            for one in live:
                self._move(one)
            live = [one for one in live if not one.over]

    def _answer(self, live: Sequence[_Simulated]) -> None:
        """Ask the player wherever it is to move."""
        other = 1 - self._seat
        asking = [one for one in live if other in one.match.to_move()]
        if isinstance(self._player, Distributes):
            if len(self._known) > MOST_KEPT:
                self._known.clear()
            unknown = {view: one for one in asking if (view := one.match.view(other)) not in self._known}
            found = ask_distributions(self._player, [one.ask(other) for one in unknown.values()])
            self._known |= dict(zip(unknown, map(as_played, found), strict=True))
        else:
            asks = [one.ask(other) for one in asking]
            for one, ask, reply in zip(asking, asks, ask_player(self._player, asks) if asks else (), strict=True):
                one.reply = move_of(self._player, ask, reply)

    def _move(self, one: _Simulated) -> None:
        """Play one decision of a match."""
        match, moves = one.match, dict[int, str]()
        for seat in match.to_move():
            if seat == self._seat:
                moves[seat] = self._try(one)
            else:
                reply = self._drawn(one, seat)
                if reply is None:
                    self._end(one, forfeit_returns(self._game, seat, match.returns())[self._seat])
                    return
                moves[seat] = reply
        match.apply(moves)
        if not match.to_move():
            self._end(one, match.returns()[self._seat])

    def _drawn(self, one: _Simulated, seat: int) -> str | None:
        """Return the player's move, or None for a reply that is not legal."""
        if not isinstance(self._player, Distributes):
            return one.reply
        odds, forfeit = self._known[one.match.view(seat)]
        legal = one.match.legal_moves(seat) or []
        return one.rng.choices([*legal, None], [*odds, forfeit])[0]

    def _try(self, one: _Simulated) -> str:
        if one.at_random:
            return one.rng.choice(one.match.legal_moves(self._seat) or [])
        view = one.match.view(self._seat)
        node = self._nodes.get(view)
        if node is None:
            node = self._nodes[view] = _Node(tuple(one.match.legal_moves(self._seat) or ()))
            one.at_random = True  # from the next move on
        untried = [move for move, count in enumerate(node.counts) if not count]
        if untried:
            move = untried[int(one.rng.random() * len(untried))]
        else:
            width = EXPLORATION * self._spread * math.sqrt(math.log(node.visits))
            scores = [
                total / count + width / math.sqrt(count) for total, count in zip(node.totals, node.counts, strict=True)
            ]
            move = scores.index(max(scores))
        node.visits += 1
        node.counts[move] += 1  # at once, so that the matches of one batch try different moves
        one.path.append((node, view, move))
        return node.moves[move]

    def _end(self, one: _Simulated, gained: float) -> None:
        one.over = True
        self._ended += 1
        self._mean += (gained - self._mean) / self._ended
        self._squares += gained * gained
        if self._ended % 1024 == 0:
            self._spread = math.sqrt(max(1e-9, self._squares / self._ended - self._mean**2))
        for node, _, move in one.path:
            node.totals[move] += gained
        for (node, _, move), (_, view, _) in pairwise(one.path):
            node.after[move][view] = node.after[move].get(view, 0) + 1
        if one.path:  # not if the player forfeited before
            node, _, move = one.path[-1]
            node.ends[move] += gained

    def response(self) -> dict[str, str]:
        """Return the best move in each state, by what followed on it."""
        for view in self._nodes:
            self._solve(view)
        return {view: node.moves[node.best] for view, node in self._nodes.items()}

    def _solve(self, view: str) -> float:
        """Return the value of an information state, with the values of those that follow. A seat does not forget, so a
        state never follows on itself, and the depth is at most the number of the seat's moves."""
        node = self._nodes[view]
        if math.isnan(node.value):
            worth, means = [-math.inf] * len(node.moves), [-math.inf] * len(node.moves)
            for move, count in enumerate(node.counts):
                if count:
                    later = (times * self._solve(then) for then, times in node.after[move].items())
                    means[move] = (node.ends[move] + math.fsum(later)) / count
                    worth[move] = means[move] - CAUTION * self._spread / math.sqrt(count)
            node.best = worth.index(max(worth))
            node.value = means[node.best]
        return node.value


@dataclass(slots=True)
class _Simulated:
    """A match that is simulated."""

    match: Match
    rng: random.Random
    path: list[tuple[_Node, str, int]] = field(default_factory=list)
    """The states in which the response moved, with what it knew and the index of its move."""
    reply: str | None = None
    """The last reply of a player that does not give probabilities; None if it was no legal move."""
    at_random: bool = False
    """Whether the response plays the rest at random."""
    over: bool = False

    @classmethod
    def begin(cls, game: Game, rng: random.Random) -> _Simulated:
        return cls(game.new(rng.getrandbits(48)), rng)

    def ask(self, seat: int) -> Ask:
        """What the driver would ask the player."""
        context = MatchContext(self.match, f"search-{self.rng.getrandbits(48)}", self.rng.getrandbits(48))
        context.asked[seat] = sum(event.seat == seat for event in self.match.events)
        return context.ask(seat)
