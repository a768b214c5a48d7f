"""A trained policy as a player: any seat, any command, any environment's opponent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from gymposium.games.protocol import Game, Style
from gymposium.players.identity import Identity, file_digest
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.reading import READERS, Reader
from gymposium_sb3.policy_file import read_policy


class Sb3Player:
    """Plays the legal move that the policy finds likeliest, as `predict(deterministic=True)` does: the first of them
    where several are. Nothing is drawn, so the same position brings the same move. All asks that wait are answered in
    one forward pass, on one thread: more cost a small network more than they bring."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    deterministic = True
    repeats: Repeats = "quickly"

    def __init__(self, path: str) -> None:
        """Raises `BadOption` where the file cannot be played from."""
        self._path = path
        self.name = f"sb3:{path}"
        self._policy = read_policy(path)
        self._game: Game | None = None
        """The game that was last seen to be the policy's own."""

    def identity(self) -> Identity:
        """The digest of the file."""
        return Identity({self._path: file_digest(self._path)})

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        """Raises `BadOption` where the policy is of another game."""
        for ask in asks:
            if ask.game is not self._game:
                self._policy.check_game(ask.game)
                self._game = ask.game
        seen = np.stack([ask.tensor().ravel() for ask in asks])
        with one_thread(), torch.inference_mode():
            scores = self._policy.network(torch.from_numpy(seen)).numpy()
        return [Reply(_best(ask, row)) for ask, row in zip(asks, scores, strict=True)]


def _best(ask: Ask, scores: np.ndarray) -> str:
    """The legal move with the highest score."""
    moves = ask.legal_moves
    assert moves is not None, "a game that takes free text has no actions, and the check refuses it"
    return moves[int(scores[ask.legal_actions].argmax())]


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread inside, as many as before behind."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
