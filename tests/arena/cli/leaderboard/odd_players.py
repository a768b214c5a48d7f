"""A one-file plugin for tests: players that crash, hang, die or give bad replies in some matches."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from multiprocessing import parent_process
from typing import Any

from gymposium import hookimpl, make_player
from gymposium.errors import GymposiumError
from gymposium.players.protocol import Ask, Reply
from gymposium.plugins.specs import OpponentSpec
from gymposium.replies.reading import READERS

RANDOM = make_player("random")


class Odd:
    """Plays at random, but fails in every third deal at its second turn in the way given by its name."""

    reader, style = READERS["move"], "compact"

    def __init__(self, what: str) -> None:
        self.name = f"odd-{what}"
        if what == "stillborn" and parent_process() is not None:
            os._exit(5)

    def act(self, asks: Sequence[Ask]) -> list[Any]:
        return [self._act(ask, *RANDOM.act([ask])) for ask in asks]

    def _act(self, ask: Ask, reply: Reply) -> Any:
        group = int(ask.key.rpartition("/")[2].partition("-")[0])
        if group % 3 or ask.turn != 1:
            return reply
        match self.name.removeprefix("odd-"):
            case "waits":
                with open(os.environ["ODD_CALL"], "w", encoding="utf-8") as call:  # a FIFO, which the test reads
                    call.write("asked")
                time.sleep(3600)
            case "raises":
                raise ZeroDivisionError("odd")
            case "hangs":
                time.sleep(3600)
            case "dies":
                os._exit(3)
            case "illegal":
                return Reply("z9" if "tic" in ask.game.name else "king")
            case "malformed":
                return {"move": reply.text}
            case "unreachable":
                if os.environ.get("ODD_SERVER") != "there":
                    raise GymposiumError("no server")
        return reply


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    yield OpponentSpec(
        name="odd",
        form="odd-WHAT",
        pattern="odd-(?P<what>waits|raises|hangs|dies|illegal|malformed|unreachable|stillborn|opens)",
        summary="Odd.",
        entry_point="odd_players:Odd",
        opens="a file",
        opens_where="opens",
    )
