"""Optimal and near-optimal players in games small enough to solve: `exact` and `cfr-N`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from gymposium.analysis.exact.equilibrium import check_histories, compute_average_policy, require_solvable
from gymposium.analysis.exact.minimax import Minimax, check_solvable, list_children
from gymposium.analysis.exact.optima import PREFER_WINS, RandomOpponent
from gymposium.analysis.exact.policy import State
from gymposium.analysis.exact.size import MOST_POSITIONS, TooLarge
from gymposium.games.protocol import Game, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.replies.reading import READERS, Reader


class ExactPlayer:
    """A perfect player, by minimax over all positions that can follow.

    It picks uniformly among the moves that keep the position's value, without preferring shorter wins. As a teacher, it
    recommends those that then win most often against uniformly random replies. Solved positions are cached across
    matches.

    It plays two-seat games with alternating moves, perfect information, no chance and at most 400,000 positions. For
    other games it raises `TooLarge` with the reason."""

    name = "exact"
    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def __init__(self) -> None:
        self._solved: dict[Game, Minimax] = {}
        self._taught: dict[tuple[Game, int], RandomOpponent] = {}

    def check_game(self, game: Game) -> None:
        """Raise `TooLarge` with the reason for an unsupported kind of game."""
        check_solvable(game)
        if game.spec.utility != "zero_sum":
            raise TooLarge(f"exact does not play {game.name}, because the game is not zero-sum. Write mcts-N.")

    def check_size(self, game: Game, *, teaching: bool = False) -> None:
        """Raise `TooLarge` for a game with too many positions."""
        if problem := _find_size_problem(game, MOST_POSITIONS, teaching=teaching):
            raise TooLarge(problem)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(ask.rng.choice(self._find_best_moves(ask))) for ask in asks]

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return distributions with equal probability for each best move."""
        return [_choose_uniformly(ask, self._find_best_moves(ask)) for ask in asks]

    def teach(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return distributions with equal probability for each best move that wins most often against random replies,
        if the rest of the policy is chosen alike."""
        return [_choose_uniformly(ask, self._find_taught_moves(ask)) for ask in asks]

    def _find_taught_moves(self, ask: Ask) -> list[str]:
        best = self._find_best_moves(ask)
        if len(best) == 1:
            return best
        key = (ask.game, ask.seat)
        if key not in self._taught:
            self._taught[key] = _make_taught(ask.game, ask.seat, MOST_POSITIONS)
        _, (position,) = ask.sampler.worlds(1, ask.rng)
        worth = {
            move: PREFER_WINS(self._taught[key].value(child)) for move, child in list_children(position) if move in best
        }
        return [move for move, value in worth.items() if value == max(worth.values())]

    def _find_best_moves(self, ask: Ask) -> list[str]:
        if ask.game not in self._solved:
            self.check_game(ask.game)
            self._solved[ask.game] = Minimax(ask.game, 0, MOST_POSITIONS)
        _, (position,) = ask.sampler.worlds(1, ask.rng)
        worth = {move: self._solved[ask.game].value(child) for move, child in list_children(position)}
        best = (max if ask.seat == 0 else min)(worth.values())
        return [move for move, value in worth.items() if value == best]


def _make_taught(game: Game, seat: int, most: int) -> RandomOpponent:
    """Return the values that choose among the best moves of a seat."""
    return RandomOpponent(game, seat, PREFER_WINS, safe=Minimax(game, seat, most), most=most)


@lru_cache(maxsize=256)
def _find_size_problem(game: Game, most: int, *, teaching: bool) -> str | None:
    """Return why a game is too large, or None. Cached, because a training run checks more than once."""
    try:
        Minimax(game, 0, most).value(game.new(0))
        for seat in (0, 1) if teaching else ():
            _make_taught(game, seat, most).value(game.new(0))
    except TooLarge as reason:
        return str(reason)
    return None


def _choose_uniformly(ask: Ask, chosen: Collection[str]) -> MoveDistribution:
    legal = tuple(ask.legal_moves or ())
    odds = tuple((move in chosen) / len(chosen) for move in legal)
    return MoveDistribution(legal, odds, legal_mass=1.0, samples=None)


class CfrPlayer:
    """A near-equilibrium player: it plays the average policy after N iterations of CFR+.

    It is hard to exploit, and does not exploit its opponent. The policy is computed at the first move and cached across
    matches. It plays OpenSpiel's zero-sum games with two seats, hidden information and at most 400,000 histories. For
    other games it raises `TooLarge` with the reason."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def __init__(self, iterations: str | int) -> None:
        self.iterations = int(iterations)
        self.name = f"cfr-{self.iterations}"
        self._solved: dict[Game, Mapping[State, Mapping[int, float]]] = {}

    def check_game(self, game: Game) -> None:
        """Raise `TooLarge` with the reason for an unsupported kind of game."""
        require_solvable(game)

    def check_size(self, game: Game, *, teaching: bool = False) -> None:
        """Raise `TooLarge` for a game with too many histories."""
        check_histories(require_solvable(game))

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [
            Reply(ask.rng.choices(policy.moves, policy.probabilities)[0])
            for ask, policy in zip(asks, self.distributions(asks), strict=True)
        ]

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return the average policy's distribution for each ask."""
        return [self._distribution(ask) for ask in asks]

    def _distribution(self, ask: Ask) -> MoveDistribution:
        if ask.game not in self._solved:
            self._solved[ask.game] = compute_average_policy(ask.game, self.iterations)
        odds = self._solved[ask.game][ask.seat, ask.view]
        probabilities = tuple(odds[action] for action in ask.legal_actions)
        return MoveDistribution(tuple(ask.legal_moves or ()), probabilities, legal_mass=1.0, samples=None)
