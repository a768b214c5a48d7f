"""The match driver, used for commands, evaluation, cold-start data and training rollouts.

A `RunningMatch` is one match. A schedule decides when its players are asked. In `rounds`, every match asks once per
round. Batches then depend only on the matches, so runs are bit-reproducible (`gymposium.match.rounds`). In `streaming`,
a match continues as soon as its answers arrive (`gymposium.match.streaming`). This suits players that wait for a server
or for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from gymposium.errors import BadOption
from gymposium.match.feed import FeedClosed, JobFeed
from gymposium.match.guard import Answer, Guard, PlayerFailure, collect_replies
from gymposium.match.match import RunningMatch, get_prompt_hash
from gymposium.match.opening import open_match
from gymposium.match.promises import BrokenPromise
from gymposium.match.result import FORFEIT, EngineError, GameRefused, MatchJob, MatchResult, Turn, check_integer
from gymposium.match.rounds import ask_players, play_rounds
from gymposium.match.streaming import play_streaming
from gymposium.match.watchdog import Watchdog

__all__ = [
    "FORFEIT",
    "SCHEDULES",
    "Answer",
    "BrokenPromise",
    "EngineError",
    "FeedClosed",
    "GameRefused",
    "Guard",
    "JobFeed",
    "MatchJob",
    "MatchResult",
    "PlayerFailure",
    "RunningMatch",
    "Schedule",
    "Turn",
    "ask_players",
    "collect_replies",
    "get_prompt_hash",
    "open_match",
    "play",
    "read_schedule",
]

Schedule = Literal["rounds", "streaming"]
_Schedule = Callable[[Iterable[MatchJob], int, Watchdog | None, Guard | None], Iterator[MatchResult]]
SCHEDULES: dict[Schedule, _Schedule] = {"rounds": play_rounds, "streaming": play_streaming}


def read_schedule(text: str) -> Schedule:
    """Return the schedule with this name. Raises `BadOption` for an unknown name."""
    for schedule in SCHEDULES:
        if text == schedule:
            return schedule
    raise BadOption(f"Unknown schedule={text!r}. Use {' or '.join(SCHEDULES)}.")


def play(
    jobs: Iterable[MatchJob],
    *,
    at_once: int = 256,
    watchdog: Watchdog | None = None,
    schedule: Schedule = "rounds",
    guard: Guard | None = None,
) -> Iterator[MatchResult]:
    """Play matches, up to `at_once` at a time, and yield each result when its match ends. More jobs may be added to a
    `JobFeed` meanwhile.

    `rounds` keeps the job order among matches that end in the same round; `streaming` yields them in order of
    completion.

    With a `watchdog`, a seat forfeits if its player does not answer in time. With a `guard`, a seat forfeits if its
    player raises. If a game's engine fails or a player cannot be asked, the guard yields the match so far, with the
    reason in `ending`. Both schedules play the same moves if the players' replies depend only on their asks.

    If a tool fails (`WorldFailure`), the match so far is yielded, with or without a guard.

    Raises `BadOption` for an unknown schedule. Without a guard, raises `EngineError` with the match so far if a game's
    engine fails, and every exception from a player."""
    check_integer("play: at_once", at_once, least=1)
    return SCHEDULES[read_schedule(schedule)](jobs, at_once, watchdog, guard)
