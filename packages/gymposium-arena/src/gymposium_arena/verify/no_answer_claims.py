"""Check claims that a player did not answer or ended its process.

A false claim would win the match for the other side with a consistent record. Each claim's match is therefore replayed
in a separate process up to that decision. The player is then asked with the tournament's time limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import cast

from gymposium.match import Answer, Guard, play
from gymposium.match.watchdog import Watchdog
from gymposium.players.protocol import Ask, Player
from gymposium.records import Record, Script, list_unanswered
from gymposium.runs.executors.starting import delay_ctrl_c, init_worker
from gymposium.util.child_process import spawn_context
from gymposium_arena.verify.lineup import LineupCheck, make_job_finder
from gymposium_arena.verify.replay import PlayerPool, RecordedPlayer, RerunScripts, describe_difference

_ASKING = "asked"
"""The child process's message that the player is being asked."""


def check_claim(check: LineupCheck, match: str, seat: int) -> str | None:
    """Ask a player again at the decision where it reportedly failed.

    Returns the difference as a sentence, or None if the player fails again in any way."""
    context = spawn_context()
    ours, theirs = context.Pipe()
    process = context.Process(target=_ask_again, args=(theirs, check, match, seat), daemon=True)
    with delay_ctrl_c():
        process.start()
    theirs.close()
    try:
        if (before := _receive(ours)) != _ASKING:
            return before
        return _receive(ours) if ours.poll(check.lineup.suite.watchdog) else None
    finally:
        process.kill()
        process.join()


def _receive(connection: Connection) -> str | None:
    """Return the child process's next message, or None if it ended."""
    try:
        return cast(str | None, connection.recv())
    except EOFError:
        return None


def _ask_again(connection: Connection, check: LineupCheck, match: str, seat: int) -> None:
    init_worker()
    pool = PlayerPool()
    job = make_job_finder(check, pool)(match)
    assert job is not None, "only claims in planned matches are checked"
    record = next(one for _, one in check.records() if isinstance(one, Record) and one.id == match)
    seats = [pool.seat(check.entries[player.name], asked=number == seat) for number, player in enumerate(job.players)]
    guard = _ClaimGuard({match: Script(record)}, last=dict(list_unanswered(record))[seat], connection=connection)
    list(play([replace(job, players=seats)], guard=guard))
    connection.send(next(iter(guard.differences.values()), None))


class _ClaimGuard(RerunScripts):
    """A guard that reruns one player throughout the match, up to its reportedly missing answer."""

    def __init__(self, scripts: dict[str, Script], last: Answer, connection: Connection) -> None:
        super().__init__(scripts)
        self._last, self._connection = last, connection

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        recorded = super().answers(player, asks, watchdog)
        assert isinstance(player, RecordedPlayer)
        if player.player is not None and recorded == [self._last] and not self.differences:
            self._connection.send(_ASKING)
            [now] = Guard().answers(player.player, asks)
            if how := describe_difference(self._last, now):
                self.differences[asks[0].key, asks[0].seat] = f"seat {asks[0].seat} ({player.name}) {how}"
        return recorded

    def _may_ask(self, ask: Ask, answer: Answer) -> bool:
        return answer != self._last and super()._may_ask(ask, answer)
