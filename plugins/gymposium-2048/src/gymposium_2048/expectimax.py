"""The player `expectimax-D`: 2048 by search over its own moves and what chance may bring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.plugins.names import parse_name
from gymposium.reading import READERS, Reader

if TYPE_CHECKING:
    import numpy as np

    from gymposium_2048.rows import Rows


class ExpectimaxPlayer:
    """Plays 2048 and nothing else, D moves ahead. expectimax-1 takes the slide whose board it likes best; each further
    move of look-ahead weighs every new tile in every empty square by its chance, and the best slide after it. Chance is
    exact up to expectimax-3; from there on a board that comes about less than once in 1,000 is judged as it stands.

    It knows the rules and the chances of new tiles, and judges a board by its empty squares, its pairs, the order of
    its lines and how few tiles it has (`gymposium_2048.rows`). It does not count the score: it lives as long as it can,
    and makes the tile that ends the game as soon as it can. Of the moves that are left before the game is cut off it
    knows nothing, and tiles from 32768 on look alike to it.

    It draws nothing: on equal boards it plays equal moves, of equally good ones the first in the order up, right, down,
    left. The first move takes some two CPU seconds more in every process, to import and compile the search."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    deterministic = True
    repeats: Repeats = "slowly"

    def __init__(self, moves: str | int) -> None:
        self.moves = int(moves)
        self.name = f"expectimax-{self.moves}"
        self._tables: Rows | None = None

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def _choose(self, ask: Ask) -> str:
        if parse_name(ask.game.name)[0] != "2048":  # the engine's own leaves out legal moves
            raise GymposiumError(f"{self.name} plays 2048 and nothing else, so not {ask.game.name}.")
        from gymposium_2048.rows import rows
        from gymposium_2048.search import values  # numba: heavy, and only for whoever plays

        if self._tables is None:
            self._tables = rows()
        last = int(ask.game.params["max_tile"]).bit_length() - 1
        worth = values(board_of(ask.tensor()), self.moves, last, self._tables)
        legal = dict(zip(ask.legal_actions, ask.legal_moves or (), strict=True))
        return legal[max(legal, key=lambda action: float(worth[action]))]


def board_of(tiles: np.ndarray) -> np.uint64:
    """The board of the search, from the tiles as the seat sees them."""
    import numpy as np

    from gymposium_2048.rows import GREATEST

    board = 0
    for square, tile in enumerate(tiles.ravel().tolist()):
        board |= min(max(int(tile).bit_length() - 1, 0), GREATEST) << 4 * square
    return np.uint64(board)
