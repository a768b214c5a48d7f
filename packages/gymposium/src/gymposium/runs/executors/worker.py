"""The worker process of a local executor. It plays parts and reports progress.

A worker sends its supervisor (`gymposium.runs.executors.crew`) a message before and after each call to a player. If a
player hangs or crashes the process, the supervisor knows which player it was and starts another process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from gymposium.match import Answer, Guard, PlayerFailure, play
from gymposium.match.watchdog import Watchdog
from gymposium.players.protocol import Ask, Player
from gymposium.records import RecordLine
from gymposium.runs.executors.protocol import RunPart, Which
from gymposium.runs.executors.starting import init_worker

_PATIENCE = 4
"""Upper bound on a batch's time limit, as a multiple of the limit per ask.

A batch that takes longer is played again ask by ask, and its players do not forfeit."""


@dataclass(frozen=True, slots=True)
class PlayerAsked:
    """Message: a player is being asked, with a time limit."""

    seconds: float | None
    """Time limit in seconds; None for no limit."""
    numbers: tuple[int, ...]
    """Numbers of the matches in progress."""
    which: Which | None
    """The ask; None for a batch of asks."""


@dataclass(frozen=True, slots=True)
class PlayerAnswered:
    """Message: the player has answered."""


@dataclass(frozen=True, slots=True)
class BatchPlayed:
    """Message: this batch of matches is over."""

    numbers: tuple[int, ...]
    lines: Sequence[RecordLine]
    """Records, in order."""
    faults: Mapping[tuple[str, str], int] = field(default_factory=Counter)
    """Number of failures, by player and kind: `("mcts-100", "in go it did not answer in time")`."""
    broken: Mapping[str, int] = field(default_factory=Counter)
    """Number of matches that broke off, by reason."""


@dataclass(frozen=True, slots=True)
class PartEnded:
    """Message: the part is done or cannot continue."""

    error: str | None = None
    """Why the remaining matches could not be played; None if there is no error."""
    stopped: bool = False
    """True if all matches in a batch broke off, so the remaining matches were not played."""


Message = PlayerAsked | PlayerAnswered | BatchPlayed | PartEnded


def serve_parts(supervisor: Connection) -> None:
    """Play parts from the supervisor until it sends None."""
    init_worker()
    players: dict[str, Player] = {}
    while (part := supervisor.recv()) is not None:
        try:
            ended = PartEnded(stopped=_play_part(part, players, supervisor))
        except Exception as raised:  # noqa: BLE001 - reported; the next part is played
            ended = PartEnded(f"{type(raised).__name__}: {' '.join(str(raised).split())}")
        supervisor.send(ended)


def _play_part(part: RunPart, players: dict[str, Player], supervisor: Connection) -> bool:
    """Play a part. Returns True if it was abandoned because all matches in a batch broke off."""
    for name in part.matches.players:
        if name not in players:
            players[name] = part.matches.make_player(name)
    seated = [players[name] for name in part.matches.players]
    for numbers in part.batches():
        jobs = list(part.matches.jobs(seated, numbers))
        places = {job.id: place for place, job in enumerate(jobs)}
        guard = SupervisedGuard(part, numbers, supervisor)
        played = sorted(play(jobs, at_once=len(jobs), guard=guard), key=lambda result: places[result.job.id])
        broken = Counter(result.ending.detail for result in played if result.ending.broke_off)
        faults = Counter(
            (
                result.job.players[failure.seat or 0].name,
                f"in {result.job.game.name} it {failure.describe_failure(result.cut_off)}",
            )
            for result in played
            for failure in result.ending.failures
        )
        lines = [RecordLine.from_match(result) for result in played]
        supervisor.send(BatchPlayed(numbers, lines, faults, broken))
        if broken.total() == len(played) > 1:
            return True
    return False


class SupervisedGuard(Guard):
    """A guard that reports to the supervisor whenever it asks a player.

    In careful matches, it makes one ask at a time and does not repeat asks with a known verdict."""

    def __init__(self, part: RunPart, numbers: tuple[int, ...], supervisor: Connection) -> None:
        self._part, self._numbers, self._supervisor = part, numbers, supervisor
        self._careful = part.careful.issuperset(numbers)

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        if not self._careful:
            self._send_asked(min(len(asks), _PATIENCE), None)
            answers = super().answers(player, asks, watchdog)
            self._supervisor.send(PlayerAnswered())
            return answers
        return [self._answer(player, ask) for ask in asks]

    def _answer(self, player: Player, ask: Ask) -> Answer:
        which = (ask.key, ask.seat, ask.turn)
        if which in self._part.verdicts:
            how = self._part.verdicts[which]
            return None if how is None else PlayerFailure(how, own=True)
        self._send_asked(1, which)
        [answer] = super().answers(player, [ask])
        self._supervisor.send(PlayerAnswered())
        return answer

    def _send_asked(self, times: int, which: Which | None) -> None:
        seconds = None if self._part.watchdog is None else self._part.watchdog * times
        self._supervisor.send(PlayerAsked(seconds, self._numbers, which))
