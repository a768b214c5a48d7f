"""The players of a board that can be asked again here, and why others cannot."""

from __future__ import annotations

from collections.abc import Mapping

from gymposium.arena.entries import Changed, Entry, make_entrant
from gymposium.arena.verify.findings import Finding
from gymposium.arena.verify.replay import RecordedPlayer
from gymposium.errors import describe
from gymposium.players.protocol import Player
from gymposium.reading import READERS, Reader


class PlayerPool:
    """The players of a board in one process, each made once."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.why_not: dict[str, str] = {}
        """By player: why it cannot be asked here."""
        self._players: dict[str, Player] = {}
        self._seats: dict[tuple[str, bool], RecordedPlayer] = {}

    def seat(self, entry: Entry, *, asked: bool) -> RecordedPlayer:
        """The recorded player of an entry; if `asked`, with the player itself to be asked again, if it can be made."""
        key = entry.player, asked
        if key not in self._seats:
            player = self._player(entry) if asked else None
            style, reader = entry.prompt.style, _reader(entry, player)
            self._seats[key] = RecordedPlayer(entry.player, style, reader, entry.deterministic, player)
        return self._seats[key]

    def _player(self, entry: Entry) -> Player | None:
        if entry.player in self.why_not:
            return None
        if entry.player not in self._players:
            try:
                self._players[entry.player] = make_entrant(entry)
            except Changed as error:
                self.why_not[entry.player] = describe(error)
                if not error.code:
                    self.findings.append(Finding("entry", f"entries/{entry.slug}/entry.json", str(error)))
            except Exception as error:  # noqa: BLE001 - any error that a player's own code may raise
                self.why_not[entry.player] = describe(error)
        return self._players.get(entry.player)


def _reader(entry: Entry, player: Player | None) -> Reader:
    """The reader of its replies: a built-in one, or the one that the player itself has."""
    known: Mapping[str, Reader] = READERS
    if entry.prompt.reader in known:
        return known[entry.prompt.reader]
    if player is None:
        player = make_entrant(entry)
    return player.reader
