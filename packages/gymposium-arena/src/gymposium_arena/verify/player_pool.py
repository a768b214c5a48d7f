"""Make players for reruns, at most once per process."""

from __future__ import annotations

from gymposium.errors import describe
from gymposium.players.protocol import Player
from gymposium.replies.reading import GENERAL, Reader
from gymposium_arena.entries import Entry, PlayerMismatch, make_entered_player
from gymposium_arena.verify.findings import Finding
from gymposium_arena.verify.replay import RecordedPlayer


class PlayerPool:
    """A board's players in one process, each created once."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        """Findings about entries that differ from the installed player."""
        self.why_not: dict[str, str] = {}
        """Why a player cannot be made here, by player."""
        self._players: dict[str, Player] = {}
        self._seats: dict[tuple[str, bool], RecordedPlayer] = {}

    def seat(self, entry: Entry, *, asked: bool) -> RecordedPlayer:
        """Return an entry's recorded player. If `asked`, it holds the player to rerun if that can be created."""
        key = entry.player, asked
        if key not in self._seats:
            player = self._get_player(entry) if asked else None
            style, reader = entry.prompt.style, _get_reader(entry, player)
            self._seats[key] = RecordedPlayer(entry.player, style, reader, entry.deterministic, player)
        return self._seats[key]

    def _get_player(self, entry: Entry) -> Player | None:
        if entry.player not in self.why_not and entry.player not in self._players:
            try:
                self._players[entry.player] = make_entered_player(entry)
            except Exception as error:  # noqa: BLE001 - a player's own code may raise anything
                self.why_not[entry.player] = describe(error)
                if isinstance(error, PlayerMismatch) and not error.is_code_only:
                    self.findings.append(Finding("entry", f"entries/{entry.slug}/entry.json", str(error)))
        return self._players.get(entry.player)


def _get_reader(entry: Entry, player: Player | None) -> Reader:
    """Return an entry's reply reader: a built-in one, or the player's own."""
    if entry.prompt.reader in GENERAL:
        return GENERAL[entry.prompt.reader]
    return (make_entered_player(entry) if player is None else player).reader
