"""The player `sb3:FILE.zip`, a policy trained with stable-baselines3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from gymposium.games.protocol import Game, Style
from gymposium.players.identity import Identity, digest_file
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.replies.reading import READERS, Reader
from gymposium_sb3.policy_file import read_policy


class Sb3Player:
    """A player that plays the likeliest legal move, like `predict(deterministic=True)`. Ties go to the first move. Each
    call is one forward pass on one thread, which is fastest for a small network."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    deterministic = True
    repeats: Repeats = "quickly"

    def __init__(self, path: str) -> None:
        """Raise `BadOption` for a file without a usable policy."""
        self._path = path
        self.name = f"sb3:{path}"
        self._policy = read_policy(path)
        self._game: Game | None = None
        """Last game that passed the check."""

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` if the policy was trained on another game."""
        self._policy.check_game(game)

    def identity(self) -> Identity:
        """Return the digest of the file."""
        return Identity({self._path: digest_file(self._path)})

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        """Raise `BadOption` if the policy was trained on another game."""
        for ask in asks:
            if ask.game is not self._game:
                self.check_game(ask.game)
                self._game = ask.game
        tensors = np.stack([ask.tensor().ravel() for ask in asks])
        with limit_threads(), torch.inference_mode():
            scores = self._policy.network(torch.from_numpy(tensors)).numpy()
        return [Reply(_choose_move(ask, row)) for ask, row in zip(asks, scores, strict=True)]


def _choose_move(ask: Ask, scores: np.ndarray) -> str:
    """Return the legal move with the highest score."""
    moves = ask.legal_moves
    assert moves is not None, "the check refuses games of free text, which have no actions"
    return moves[int(scores[ask.legal_actions].argmax())]


@contextmanager
def limit_threads() -> Iterator[None]:
    """Limit torch to one thread inside the context."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
