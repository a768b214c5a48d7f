"""The player `expectimax-D` for 2048: expectimax search over its own moves and the new tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gymposium.games.protocol import Game, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Repeats, Reply, check_only_game
from gymposium.replies.reading import READERS, Reader

if TYPE_CHECKING:
    import numpy as np

    from gymposium_2048.rows import LineTables


class ExpectimaxPlayer:
    """A 2048 player that searches D moves ahead.

    expectimax-1 plays the slide that leads to the board with the highest value. Each further move of look-ahead adds
    every possible new tile, weighted by its probability, and then the best slide. Probabilities are exact up to
    expectimax-3. From expectimax-4 on, boards with a probability below 1 in 1,000 are evaluated without further search.

    A board is evaluated by its empty squares, its pairs, the order of its lines and the number of its tiles
    (`gymposium_2048.rows`). The search ignores the score and the limit on the number of moves. It plays as long
    as possible, and makes the tile that ends the game as soon as possible. Tiles from 32768 on are treated as equal.

    The player is deterministic. Among equally good moves it plays the first in the order up, right, down, left. The
    first move in each process takes about two more CPU seconds, because the search is imported and compiled."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    deterministic = True
    repeats: Repeats = "slowly"

    def __init__(self, moves: str | int) -> None:
        self.moves = int(moves)
        self.name = f"expectimax-{self.moves}"
        self._tables: LineTables | None = None

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` for any game but 2048."""
        check_only_game(self.name, "2048", game)  # openspiel:2048 omits legal moves

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return distributions that put all probability on the player's move."""
        legal = [ask.legal_moves or [] for ask in asks]
        chosen = [self._choose(ask) for ask in asks]
        return [
            MoveDistribution(tuple(moves), tuple(float(one == move) for one in moves), legal_mass=1.0, samples=None)
            for moves, move in zip(legal, chosen, strict=True)
        ]

    def _choose(self, ask: Ask) -> str:
        self.check_game(ask.game)
        from gymposium_2048.rows import compute_tables
        from gymposium_2048.search import compute_values  # imports numba, which is slow

        if self._tables is None:
            self._tables = compute_tables()
        last = int(ask.game.params["max_tile"]).bit_length() - 1
        worth = compute_values(make_board(ask.tensor()), self.moves, last, self._tables)
        legal = dict(zip(ask.legal_actions, ask.legal_moves or (), strict=True))
        return legal[max(legal, key=lambda action: float(worth[action]))]


def make_board(tiles: np.ndarray) -> np.uint64:
    """Return the board in the search's representation, given the tiles."""
    import numpy as np

    from gymposium_2048.rows import GREATEST

    board = 0
    for square, tile in enumerate(tiles.ravel().tolist()):
        board |= min(max(int(tile).bit_length() - 1, 0), GREATEST) << 4 * square
    return np.uint64(board)
