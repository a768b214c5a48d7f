"""A teacher's recommendations at the decisions of recorded matches.

The driver replays the matches and asks the teacher as in play, so it sees what the seat sees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from gymposium.match import Answer, play
from gymposium.match.watchdog import Watchdog
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Player
from gymposium.players.teaching import AskTeacher
from gymposium.records.record import Record
from gymposium.records.replay import Script, Scripts, load_record_game, make_replay_job

MatchSeat = tuple[str, int]
"""The id of a match, and a seat."""


@dataclass(slots=True)
class _TeacherScripts(Scripts):
    """A guard that returns the recorded answers, and asks a teacher at each decision of some seats."""

    teacher: AskTeacher
    found: dict[MatchSeat, list[MoveDistribution]]
    """The recommendations so far, for each seat to ask about."""

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        taught = [ask for ask in asks if (ask.key, ask.seat) in self.found and ask.reason is None]
        for ask, recommended in zip(taught, self.teacher(taught), strict=True):
            self.found[ask.key, ask.seat].append(recommended)
        return Scripts.answers(self, player, asks, watchdog)


def recommend_in_records(
    teacher: AskTeacher,
    records: Sequence[Record],
    seats: Collection[MatchSeat],
    advance: Callable[[], object] = lambda: None,
) -> dict[MatchSeat, list[MoveDistribution]]:
    """Return the teacher's recommendation at each decision of these seats, in order. The opening and retries are not
    decisions. `advance` is called after each match.

    The records must have distinct ids. The recommendations end where a record cannot be replayed. Raises
    `GymposiumError` if a record does not fit its game, and any exception from the teacher."""
    scripts = {record.id: Script(record) for record in records}
    guard = _TeacherScripts(scripts, teacher, {seat: [] for seat in seats})
    for _ in play((make_replay_job(load_record_game(record), record) for record in records), guard=guard):
        advance()
    return guard.found
