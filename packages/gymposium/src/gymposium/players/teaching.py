"""Players as teachers: the distribution over moves that a learner should imitate at an ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.players.asking import ask_distributions, ask_player, blame_errors, check_distributions
from gymposium.players.distribution import MoveDistribution
from gymposium.players.grammar import reject_person
from gymposium.players.protocol import Ask, DistributionPlayer, Player, TeachingPlayer, check_plays, check_size
from gymposium.replies.reading import read_reply

MOST_MOVES = 2_000_000
"""Maximum number of moves in all recommendations that a `CachedTeacher` keeps, about 200 MB."""

AskTeacher = Callable[[Sequence[Ask]], list[MoveDistribution]]
"""Returns a recommendation for each ask, in order, like `ask_teacher`."""


def check_teacher_name(option: str, name: str, game: str = "GAME") -> None:
    """Raise `BadOption` for a person and for the words of training runs, `auto` and `none`.

    `option` is where the teacher was named, and `game` a game to suggest to a person."""
    reject_person(option, [name], game)
    if name in ("auto", "none"):
        raise BadOption(
            f"{option} {name}: only gymposium train chooses a teacher by itself. Name a player, such as exact or "
            f"mcts-400, or omit {option}."
        )


def lists_moves(game: Game) -> bool:
    """Return whether a game lists the legal moves. Otherwise, a teacher recommends the text that it replies."""
    return not (game.spec.free_text or game.spec.tools)


def check_teaches(player: Player, game: Game) -> None:
    """Raise `GymposiumError` if a game does not list its legal moves, or the player does not play it. May take as long
    as the player's first recommendation."""
    if not lists_moves(game):
        raise BadOption(
            f"{player.name} recommends legal moves, but {game.name} has no list of them. Omit the teacher, or choose "
            f"another game."
        )
    check_plays(player, game)
    check_size(player, game, teaching=True)


def ask_teacher(player: Player, asks: Sequence[Ask]) -> list[MoveDistribution]:
    """Return the player's recommendation at each ask, in order.

    A `TeachingPlayer` recommends a distribution. Other players recommend what they play: their move probabilities if
    they know them (`DistributionPlayer`), else the move that they reply. In games that do not list their moves, all
    players recommend what they reply. All probabilities are 0 if a player has no recommendation, for example after an
    illegal reply. Raises any exception from the player, and the errors of `check_distributions`."""
    if not asks:
        return []
    listed = all(ask.legal_moves is not None for ask in asks)
    if listed and isinstance(player, TeachingPlayer):
        with blame_errors(player):
            return check_distributions(player, player.teach(asks), asks)
    if listed and isinstance(player, DistributionPlayer):
        return ask_distributions(player, asks)
    replies = ask_player(player, asks)
    return [_recommend_reply(player, ask, reply.text) for ask, reply in zip(asks, replies, strict=True)]


class CachedTeacher:
    """A teacher that is asked once per game, seat and view. Later asks get the same recommendation, unless the cache
    was full in the meantime. In games that do not list their moves, it is always asked, because the players of such
    games remember the match."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self._labels: dict[tuple[str, int, str], MoveDistribution] = {}
        self._moves = 0
        """Number of moves in the labels."""

    def __call__(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return the recommendation at each ask, in order. Raises the same errors as `ask_teacher`."""
        if any(ask.legal_moves is None for ask in asks):
            return ask_teacher(self.player, asks)
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
    reading = read_reply(reply, ask.legal_moves, player.reader, ask.game.move_pattern)
    move = reading.move if reading.kind == "move" else None
    if ask.legal_moves is None:
        return recommend_moves([] if move is None else [move], [] if move is None else [1.0])
    return recommend_moves(ask.legal_moves, [float(one == move) for one in ask.legal_moves])
