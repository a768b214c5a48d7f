"""Strong responses to a player, found by search in games too large to traverse.

Matches are simulated against the player. In each of its information states, the response tries the moves by UCB1, as in
UCT (Kocsis & Szepesvári, 2006, Bandit Based Monte-Carlo Planning). Each match adds one known state and is then played
at random. So memory grows with the number of matches, not with their lengths (Coulom, 2006, Efficient Selectivity and
Backup Operators in Monte-Carlo Tree Search). Finally, backward induction over each move's transition counts yields the
response. The response's return against the player is a lower bound on the exploitability. It must be measured in
matches that were not used to find the response.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gymposium.analysis.exact.policy import get_move_probabilities
from gymposium.analysis.exact.sampling import read_move
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game, Match
from gymposium.match.failures import compute_forfeit_returns
from gymposium.players.asking import ask_distributions, ask_player
from gymposium.players.protocol import Ask, DistributionPlayer, MatchContext, Player
from gymposium.util.streams import stream

SIMULATIONS = 400_000
"""Default number of simulated matches per seat of the response."""
AT_ONCE = 256
"""Number of concurrent simulations. It is more than one so the player can be asked in batches."""
MOST_KEPT = 100_000
"""Maximum number of player states with cached move probabilities. For other states, the player is queried again."""
EXPLORATION = 10.0
"""Weight of UCB1's exploration term, in standard deviations of the returns. The final response does not depend on visit
counts, so the weight is high."""
CAUTION = 1.0
"""Number of standard errors subtracted from a move's mean return when choosing the response."""


@dataclass(slots=True)
class _Node:
    """An information state of the response, with statistics of the moves tried in it."""

    moves: tuple[str, ...]
    visits: int = 0
    counts: list[int] = field(init=False)
    totals: list[float] = field(init=False)
    """Total return per move, over matches that tried it."""
    ends: list[float] = field(init=False)
    """The part of `totals` that comes from matches without a known next state."""
    after: list[dict[str, int]] = field(init=False)
    """For each move, how often each information state came next."""
    value: float = math.nan
    best: int = 0

    def __post_init__(self) -> None:
        size = len(self.moves)
        self.counts, self.totals, self.ends = [0] * size, [0.0] * size, [0.0] * size
        self.after = [{} for _ in self.moves]


def search_response(
    game: Game,
    player: Player,
    seat: int,
    simulations: int = SIMULATIONS,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _: None,
) -> dict[str, str]:
    """Return a response to a player in this seat: one move per known information state, by view (`Match.view`).

    `advance` is called with the number of new simulated matches. A player that knows its move probabilities is queried
    once per state, any other player every time. Raises `GymposiumError` for a game without two seats and lists of legal
    moves."""
    if game.seats != 2 or game.spec.free_text:
        raise GymposiumError(
            f"{game.name} cannot be searched for responses. Choose a game with two seats and lists of legal moves."
        )
    search = _Search(game, player, seat, seed)
    for begin in range(0, simulations, AT_ONCE):
        count = min(AT_ONCE, simulations - begin)
        search.simulate(range(begin, begin + count))
        advance(count)
    return search.response()


class _Search:
    """A running search, with the information states visited so far."""

    def __init__(self, game: Game, player: Player, seat: int, seed: int) -> None:
        self._game, self._player, self._seat, self._seed = game, player, seat, seed
        self._nodes: dict[str, _Node] = {}
        self._known: dict[str, tuple[tuple[float, ...], float]] = {}
        """Distributions of a player that knows its probabilities, by view."""
        self._ended = 0
        self._mean = 0.0
        self._squares = 0.0
        low, high = game.utility_range
        self._spread = (high - low) / 2

    def simulate(self, numbers: Sequence[int]) -> None:
        """Simulate the matches with these numbers to the end."""
        live = [
            _SimulatedMatch.begin(self._game, stream(self._seed, "search", self._seat, number)) for number in numbers
        ]
        while live:
            self._ask_player(live)
            for one in live:
                self._play_decision(one)
            live = [one for one in live if not one.over]

    def _ask_player(self, live: Sequence[_SimulatedMatch]) -> None:
        """Ask the player in each of these matches where it is to move."""
        other = 1 - self._seat
        asking = [one for one in live if other in one.match.to_move()]
        if isinstance(self._player, DistributionPlayer):
            if len(self._known) > MOST_KEPT:
                self._known.clear()
            unknown = {view: one for one in asking if (view := one.match.view(other)) not in self._known}
            found = ask_distributions(self._player, [one.ask(other) for one in unknown.values()])
            self._known |= dict(zip(unknown, map(get_move_probabilities, found), strict=True))
        else:
            asks = [one.ask(other) for one in asking]
            for one, ask, reply in zip(asking, asks, ask_player(self._player, asks) if asks else (), strict=True):
                one.reply = read_move(self._player, ask, reply)

    def _play_decision(self, one: _SimulatedMatch) -> None:
        """Play one decision of a match."""
        match, moves = one.match, dict[int, str]()
        for seat in match.to_move():
            if seat == self._seat:
                moves[seat] = self._choose_move(one)
            else:
                reply = self._draw_move(one, seat)
                if reply is None:
                    self._record_return(one, compute_forfeit_returns(self._game, seat, match.returns())[self._seat])
                    return
                moves[seat] = reply
        match.apply(moves)
        if not match.to_move():
            self._record_return(one, match.returns()[self._seat])

    def _draw_move(self, one: _SimulatedMatch, seat: int) -> str | None:
        """Return the player's move, or None for an illegal reply."""
        if not isinstance(self._player, DistributionPlayer):
            return one.reply
        odds, forfeit = self._known[one.match.view(seat)]
        legal = one.match.legal_moves(seat) or []
        return one.rng.choices([*legal, None], [*odds, forfeit])[0]

    def _choose_move(self, one: _SimulatedMatch) -> str:
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
        node.counts[move] += 1  # at once, so that matches in one batch try different moves
        one.path.append((node, view, move))
        return node.moves[move]

    def _record_return(self, one: _SimulatedMatch, gained: float) -> None:
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
        """Return the best move in each state, judging by the observed transitions."""
        for view in self._nodes:
            self._solve(view)
        return {view: node.moves[node.best] for view, node in self._nodes.items()}

    def _solve(self, view: str) -> float:
        """Return an information state's value, based on the values of its successors.

        A seat's view includes its past, so a state never follows itself. The depth is at most the seat's number of
        moves."""
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
class _SimulatedMatch:
    """A simulated match."""

    match: Match
    rng: random.Random
    path: list[tuple[_Node, str, int]] = field(default_factory=list)
    """The view and the move's index at each move of the response."""
    reply: str | None = None
    """The last reply of a player without known probabilities; None if it was not a legal move."""
    at_random: bool = False
    """Whether the response plays the rest at random."""
    over: bool = False

    @classmethod
    def begin(cls, game: Game, rng: random.Random) -> _SimulatedMatch:
        return cls(game.new(rng.getrandbits(48)), rng)

    def ask(self, seat: int) -> Ask:
        """Return the driver's ask for the player."""
        context = MatchContext(self.match, f"search-{self.rng.getrandbits(48)}", self.rng.getrandbits(48))
        context.asked[seat] = sum(event.seat == seat for event in self.match.events)
        return context.ask(seat)
