"""A one-file plugin for tests: a player with weights in a file, an attested player, and players that fail."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from gymposium import hookimpl
from gymposium.players.identity import Identity, digest_file
from gymposium.players.protocol import Ask, Reply
from gymposium.plugins.specs import OpponentSpec
from gymposium.replies.reading import READERS


class WeightedPlayer:
    """Plays legal moves chosen by the number in a file."""

    reader, style, repeats = READERS["move"], "compact", "quickly"

    def __init__(self, path: str) -> None:
        self.name, self._path = f"weighted:{path}", path
        self._number = json.loads(Path(path).read_text())

    def identity(self) -> Identity:
        return Identity({self._path: digest_file(self._path)}, {"kind": "number"}, {"temperature": 0.0})

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(legal[(self._number + ask.turn) % len(legal)]) for ask in asks if (legal := ask.legal_moves)]


class Secret:
    """Plays at random without its seed, and does not declare that it can be asked again."""

    name, reader, style = "secret", READERS["move"], "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(legal[os.urandom(1)[0] % len(legal)]) for ask in asks if (legal := ask.legal_moves)]


class Failing:
    """Fails in the matches of the first deal, in the way given by its name."""

    reader, style, repeats = READERS["move"], "compact", "quickly"

    def __init__(self, how: str) -> None:
        self.name, self._how = f"failing-{how}", how

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._act(ask) for ask in asks]

    def _act(self, ask: Ask) -> Reply:
        if "/0-" in ask.key:
            match self._how:
                case "raises":
                    raise ZeroDivisionError("odd")
                case "hangs":
                    time.sleep(3600)
                case "dies":
                    os._exit(3)
        legal = ask.legal_moves or []
        return Reply(legal[int(ask.rng.random() * len(legal))])


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    for name, form, pattern, what in (
        ("weighted", "weighted:FILE", "weighted:(?P<path>.+)", "WeightedPlayer"),
        ("secret", "secret", "secret", "Secret"),
        ("failing", "failing-HOW", "failing-(?P<how>raises|hangs|dies)", "Failing"),
    ):
        yield OpponentSpec(name=name, form=form, pattern=pattern, summary="Odd.", entry_point=f"checked_players:{what}")
