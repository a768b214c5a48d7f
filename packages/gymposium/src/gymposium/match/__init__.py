"""The driver plays matches: for commands, evaluation, cold-start data and training rollouts.

A `RunningMatch` is one match; a schedule decides when its players are asked. In `rounds` every match asks once a round,
so what is batched together depends on the matches alone, and a run repeats to the bit (`driver.rounds`). In
`streaming` a match goes on as soon as its own answers are in, for players that wait for a server or for each other
(`driver.streaming`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from gymposium.errors import BadOption
from gymposium.match.guard import Answer, Guard, PlayerFailure
from gymposium.match.match import RunningMatch, prompt_hash
from gymposium.match.opening import open_match
from gymposium.match.promises import BrokenPromise
from gymposium.match.result import FORFEIT, EngineError, GameRefused, MatchJob, MatchResult, Turn
from gymposium.match.rounds import ask_players, replies_of, rounds
from gymposium.match.streaming import streaming
from gymposium.match.watchdog import Watchdog

__all__ = [
    "FORFEIT",
    "SCHEDULES",
    "Answer",
    "BrokenPromise",
    "EngineError",
    "GameRefused",
    "Guard",
    "MatchJob",
    "MatchResult",
    "PlayerFailure",
    "RunningMatch",
    "Schedule",
    "Turn",
    "ask_players",
    "open_match",
    "play",
    "prompt_hash",
    "replies_of",
]

Schedule = Literal["rounds", "streaming"]
_Schedule = Callable[[Iterable[MatchJob], int, Watchdog | None, Guard | None], Iterator[MatchResult]]
SCHEDULES: dict[Schedule, _Schedule] = {"rounds": rounds, "streaming": streaming}


def play(
    jobs: Iterable[MatchJob],
    *,
    at_once: int = 256,
    watchdog: Watchdog | None = None,
    schedule: Schedule = "rounds",
    guard: Guard | None = None,
) -> Iterator[MatchResult]:
    """Plays matches, up to `at_once` at a time, and yields the result of each as it ends: `rounds` keeps the order of
    the jobs among those that end in one round, `streaming` yields them as they come.

    With a `watchdog`, a seat whose player does not answer in time forfeits. With a `guard`, a seat whose player raises
    forfeits that match; and if a game's engine fails or a player cannot be asked, the match is yielded as far as it
    came, with an `ending` that says why. Both schedules play the same moves if the players' replies depend on their
    asks alone.

    A match of which a tool failed (`WorldBroke`) is yielded as far as it came, with or without a guard.

    Raises `BadOption` for an unknown schedule; without a guard, also `EngineError` with the match so far if a game's
    engine fails, and every exception that a player raises."""
    if schedule not in SCHEDULES:
        raise BadOption(f"schedule={schedule!r}: write {' or '.join(map(repr, SCHEDULES))}.")
    return SCHEDULES[schedule](jobs, at_once, watchdog, guard)
