"""Players as teachers: the distribution over moves that a learner should imitate at an ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.players.asking import ask_distributions, ask_player, blame_errors
from gymposium.players.distribution import MoveDistribution, is_distribution
from gymposium.players.protocol import Ask, DistributionPlayer, Player, TeachingPlayer, check_plays, check_size
from gymposium.replies.reading import read_reply

MOST_MOVES = 2_000_000
"""Maximum number of moves in all recommendations that a `CachedTeacher` keeps, about 200 MB."""

AskTeacher = Callable[[Sequence[Ask]], list[MoveDistribution]]
"""Returns a recommendation for each ask, in order, like `ask_teacher`."""


def check_teaches(player: Player, game: Game) -> None:
    """Raise `GymposiumError` if a game does not list its legal moves, or the player does not play it. May take as long
    as the player's first recommendation."""
    if game.spec.free_text or game.spec.tools:
        raise BadOption(
            f"{player.name} recommends legal moves, but {game.name} has no list of them. Omit the teacher, or choose "
            f"another game."
        )
    check_plays(player, game)
    check_size(player, game, teaching=True)


def ask_teacher(player: Player, asks: Sequence[Ask]) -> list[MoveDistribution]:
    """Return the player's recommendation at each ask, in order.

    A `TeachingPlayer` recommends a distribution. Other players recommend what they play: their move probabilities if
    they know them (`DistributionPlayer`), else the move that they reply. All probabilities are 0 if a player has no
    recommendation, for example after an illegal reply. Raises any exception from the player, and `ValueError` for a
    distribution over anything but the legal moves."""
    if isinstance(player, TeachingPlayer):
        with blame_errors(player):
            found = [*player.teach(asks)] if asks else []
    elif isinstance(player, DistributionPlayer):
        found = [*ask_distributions(player, asks)]
    else:
        replies = ask_player(player, asks) if asks else []
        found = [_recommend_reply(player, ask, reply.text) for ask, reply in zip(asks, replies, strict=True)]
    if len(found) != len(asks):
        raise ValueError(f"{player.name} recommends moves at {len(found)} of {len(asks)} asks. Return one for each")
    for ask, distribution in zip(asks, found, strict=True):
        if list(distribution.moves) != ask.legal_moves:
            raise ValueError(
                f"{player.name} recommends one of {distribution.moves}, but the legal moves are {ask.legal_moves}. "
                f"Return a probability for each legal move, in order"
            )
        odds = distribution.probabilities
        if len(odds) != len(distribution.moves) or not (is_distribution(odds) or not any(odds)):
            raise ValueError(
                f"{player.name} recommends {distribution.moves} with the probabilities {odds}. Return one for each "
                f"move, which add up to 1, or zeros to recommend nothing"
            )
    return found


class CachedTeacher:
    """A teacher that is asked once per game, seat and view. Later asks get the same recommendation, unless the cache
    was full in the meantime."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self._labels: dict[tuple[str, int, str], MoveDistribution] = {}
        self._moves = 0
        """Number of moves in the labels."""

    def __call__(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return the recommendation at each ask, in order. Raises the same errors as `ask_teacher`."""
        keys = [(ask.game.name, ask.seat, ask.view) for ask in asks]
        unknown = {key: ask for key, ask in zip(keys, asks, strict=True) if key not in self._labels}
        found = dict(zip(unknown, ask_teacher(self.player, [*unknown.values()]), strict=True))
        labels = [found[key] if key in found else self._labels[key] for key in keys]
        if self._moves > MOST_MOVES:
            self._labels.clear()
            self._moves = 0
        self._labels |= found
        self._moves += sum(len(label.moves) for label in found.values())
        return labels


def recommend_moves(legal: Sequence[str], weights: Sequence[float]) -> MoveDistribution:
    """Return a recommendation of the legal moves in proportion to their weights. If all weights are 0, it recommends
    nothing."""
    total = sum(weights)
    probabilities = tuple(weight / total if total else 0.0 for weight in weights)
    return MoveDistribution(tuple(legal), probabilities, legal_mass=float(total > 0), samples=None)


def _recommend_reply(player: Player, ask: Ask, reply: str) -> MoveDistribution:
    """Return a recommendation of the move in a reply, if there is one."""
    legal = ask.legal_moves or []
    move = read_reply(reply, legal, player.reader, ask.game.move_pattern).move
    return recommend_moves(legal, [float(one == move) for one in legal])
