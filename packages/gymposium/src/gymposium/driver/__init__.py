"""The one driver that plays matches: for commands, evaluation, cold-start data and training rollouts.

One generator plays one match (`driver.match`); a schedule says when the players are asked. In `rounds` every live match
asks once a round, so what is batched together depends only on the matches, and a run repeats to the bit
(`driver.rounds`). In `streaming` a match goes on as soon as its own answers are in, for players that wait for a server
or for each other (`driver.streaming`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from gymposium.driver.guard import Answer, Guard, PlayerFailure
from gymposium.driver.match import Live, Underway, broken_off, play_match, prompt_hash
from gymposium.driver.opening import open_match
from gymposium.driver.result import FORFEIT, EngineError, MatchJob, MatchResult, Turn
from gymposium.driver.rounds import ask_players, replies_of, rounds
from gymposium.driver.streaming import streaming
from gymposium.errors import BadOption
from gymposium.watchdog import Watchdog

__all__ = [
    "FORFEIT",
    "SCHEDULES",
    "Answer",
    "EngineError",
    "Guard",
    "Live",
    "MatchJob",
    "MatchResult",
    "PlayerFailure",
    "Schedule",
    "Turn",
    "Underway",
    "ask_players",
    "broken_off",
    "open_match",
    "play",
    "play_match",
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
    """Plays matches, up to `at_once` at a time, and yields each as it ends: in `rounds` in the order of the jobs where
    several end in one round, in `streaming` as they come. With a `watchdog`, a seat whose player does not answer in
    its time forfeits. With a `guard`, so does a seat whose player raises, in that match alone; and where a game's
    engine fails, or a player cannot be asked, the match is yielded as far as it came, with an `ending` that says why.

    What is played is the same in both wherever the players' replies follow from their asks alone.

    Raises `BadOption` for another schedule and, without a guard, `EngineError` with the match so far where a game's
    engine fails, and whatever a player raises."""
    if schedule not in SCHEDULES:
        raise BadOption(f"schedule={schedule!r}: write {' or '.join(map(repr, SCHEDULES))}.")
    return SCHEDULES[schedule](jobs, at_once, watchdog, guard)
