"""Claims that somebody did not answer, or took its process down: only a process of its own can look at them.

Such a claim is worth a match to the other side, and a record that makes it agrees with itself. So the match is played
along its record up to there, and the player asked as the tournament asked it, for as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from gymposium.arena.verify.lineup import LineupCheck, planned_jobs
from gymposium.arena.verify.player_pool import PlayerPool
from gymposium.arena.verify.replay import AskingScripts, RecordedPlayer, difference
from gymposium.driver import Answer, Guard, play
from gymposium.players.protocol import Ask, Player
from gymposium.plugins.host import host
from gymposium.records import Record, Script, read_records, silences
from gymposium.watchdog import Watchdog

_SPAWN = get_context("spawn")
_ASKED = "asked"


def check_claim(check: LineupCheck, match: str, seat: int, seconds: float, plugins: Sequence[Path]) -> str | None:
    """Ask the player again where it is said to have failed. How that differs, as a sentence; None where it fails
    again, in whatever way."""
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_ask, args=(theirs, check, match, seat, [*plugins]), daemon=True)
    process.start()
    theirs.close()
    try:
        if (before := _heard(ours)) != _ASKED:
            return before
        return _heard(ours) if ours.poll(seconds) else None
    finally:
        process.kill()
        process.join()


def _heard(connection: Connection) -> str | None:
    """What it says; None where it died instead."""
    try:
        said: str | None = connection.recv()
    except EOFError:
        return None
    return said


def _ask(connection: Connection, check: LineupCheck, match: str, seat: int, plugins: Sequence[Path]) -> None:
    for file in plugins:
        host().load_file(file)
    pool = PlayerPool()
    [job] = [job for job in planned_jobs(check, pool) if job.id == match]
    record = next(one for _, one in read_records(check.file) if isinstance(one, Record) and one.id == match)
    seats = [pool.seat(check.entries[player.name], asked=number == seat) for number, player in enumerate(job.players)]
    prompter = _Claimant({match: Script(record)}, last=dict(silences(record))[seat], connection=connection)
    list(play([replace(job, players=seats)], guard=prompter))
    connection.send(next(iter(prompter.differences.values()), None))


class _Claimant(AskingScripts):
    """Asks the one player everything along the record, and at the end what it is said not to have answered."""

    def __init__(self, scripts: dict[str, Script], last: Answer, connection: Connection) -> None:
        super().__init__(scripts)
        self._last, self._connection = last, connection

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        recorded = super().answers(player, asks, watchdog)
        assert isinstance(player, RecordedPlayer)
        if player.player is not None and recorded == [self._last] and not self.differences:
            self._connection.send(_ASKED)
            [now] = Guard().answers(player.player, asks)
            if how := difference(self._last, now):
                self.differences[asks[0].key, asks[0].seat] = f"seat {asks[0].seat} ({player.name}) {how}"
        return recorded

    def _may(self, ask: Ask, answer: Answer) -> bool:
        return answer != self._last and super()._may(ask, answer)
