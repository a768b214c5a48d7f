"""A one-file plugin with a player that does not answer in two matches."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from gymposium import OpponentSpec, hookimpl, make_player
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS


class Hanging:
    """Plays at random, but does not answer at its second turn of one deal."""

    name, reader, style = "hanging", READERS["move"], "compact"

    def __init__(self) -> None:
        self._random = make_player("random")

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        for ask in asks:
            group = int(ask.key.rpartition("/")[2].partition("-")[0])
            if group == 5 and ask.turn == 1:
                threading.Event().wait()
        return list(self._random.act(asks))


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    yield OpponentSpec(
        name="hanging", form="hanging", pattern="hanging", summary="Hangs at times.", entry_point="hanging:Hanging"
    )
