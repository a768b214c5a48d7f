"""Player crashes in worker processes, which cost a match but do not end the command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gymposium.cli.text import complain
from gymposium.players.asking import find_source_file
from gymposium.players.protocol import Player
from gymposium.records import Record


@dataclass(slots=True)
class PlayerCrashes:
    """Each player's exceptions in a run, from its match records."""

    _found: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, record: Record) -> None:
        """Count the players that crashed in a match."""
        for failure in record.ending.failures:
            if failure.kind == "crashed":
                self._found[record.players[failure.seat or 0], failure.detail] += 1

    def complain(self, players: Iterable[Player]) -> None:
        """Print each exception on stderr, with its player and the player's file."""
        files = {player.name: find_source_file(type(player)) for player in players}
        for (name, detail), count in self._found.most_common():
            times = "once" if count == 1 else f"{count} times"
            complain(f"The player {name!r} failed in {files.get(name) or 'a worker'}, {times}. {detail}")
