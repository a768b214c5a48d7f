"""Engine time lost between and during the rollouts of a run, with a stand-in for the engine and a virtual clock.

The stand-in answers as servers do: it has a number of slots, each reply takes one slot for a constant time per token,
and other replies wait. Reply lengths are drawn from a log-normal distribution, whose tail is heavy. The matches, the
planner and the schedules are those of a run. An update takes a constant time. The clock moves only when no thread has
work left, so the figures do not depend on this machine.

    python -m benchmarks.rollout_idle
    python -m benchmarks.rollout_idle --slots 64 --schedule streaming --staleness 8
"""

from __future__ import annotations

import argparse
import heapq
import math
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Condition, Thread
from typing import Any

from benchmarks.report import RESULTS, about, table, write
from gymposium import load_game, make_player
from gymposium.match import MatchResult, Schedule
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.util.streams import stream
from gymposium_agents.chat.tokens import Policy
from gymposium_train.config import RolloutSettings, TrainConfig
from gymposium_train.credit.grpo import GrpoSettings
from gymposium_train.rollout import LocalExecutor, MatchPlanner, MatchRollouts, PlannedGroup

SECONDS_PER_TOKEN = 0.04
MEDIAN, SIGMA, MOST_TOKENS = 400, 1.3, 16_384
"""The distribution of reply lengths: median, standard deviation of the logarithm, and limit."""
UPDATE = 60.0
"""Seconds of an update."""


@dataclass
class Batch:
    """Requests of one call."""

    left: int
    """Number of replies to come."""
    blocks: bool
    """Whether the thread that plays waits for all replies, as in the schedule `rounds`."""


@dataclass
class Request:
    """A reply to come."""

    tokens: int
    reply: Reply
    batch: Batch
    done: Future[Reply] = field(default_factory=Future)


@dataclass
class StandIn:
    """An engine with a virtual clock, in a thread.

    The clock moves to the next event once the learner's thread waits, and all matches wait for the engine or for the
    thread that plays."""

    slots: int
    now: float = 0.0
    busy: float = 0.0
    """Slot-seconds used."""
    idle: float = 0.0
    """Seconds without any reply in progress."""
    changed: Condition = field(default_factory=Condition)
    is_learning: bool = True
    """Whether the learner's thread has something to do."""
    working: int = 0
    """Number of matches without a request."""
    _blocking: int = 0
    """Number of calls that block the thread that plays."""
    _running: list[tuple[float, int, Request]] = field(default_factory=list)
    _waiting: deque[Request] = field(default_factory=deque)
    _wakes: float = math.inf
    """When the update of the learner's thread ends."""
    _order: Iterator[int] = field(default_factory=count)
    _closed: bool = False

    def submit(self, requests: Sequence[Request]) -> None:
        with self.changed:
            self.working -= len(requests)
            self._blocking += requests[0].batch.blocks
            self._waiting.extend(requests)
            self._fill_slots()
            self.changed.notify_all()

    def note(self, working: int = 0, *, is_learning: bool | None = None) -> None:
        """Note that more or fewer matches have something to do, and whether the learner's thread has."""
        with self.changed:
            self.working += working
            self.is_learning = self.is_learning if is_learning is None else is_learning
            self.changed.notify_all()

    def sleep(self, seconds: float) -> None:
        """Let the learner's thread wait."""
        with self.changed:
            self._wakes = self.now + seconds
            self.note(is_learning=False)
            self.changed.wait_for(lambda: self.is_learning)

    def close(self) -> None:
        with self.changed:
            self._closed = True
            self.changed.notify_all()

    def run(self) -> None:
        """Move the clock from event to event until the engine is closed."""
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self._closed or self._may_move())
                if self._closed:
                    return
                then = self._find_next()
                self.busy += (then - self.now) * len(self._running)
                self.idle += 0.0 if self._running else then - self.now
                self.now = then
                if self._wakes <= then:
                    self._wakes = math.inf
                    self.note(is_learning=True)
                    continue
                _, _, request = heapq.heappop(self._running)
                self._fill_slots()
                batch = request.batch
                batch.left -= 1
                self.working += 1
                self._blocking -= batch.blocks and not batch.left
            request.done.set_result(request.reply)

    def _may_move(self) -> bool:
        waits = not self.is_learning and (self._blocking > 0 or self.working == 0)
        return waits and self._find_next() < math.inf

    def _find_next(self) -> float:
        return min(self._wakes, self._running[0][0] if self._running else math.inf)

    def _fill_slots(self) -> None:
        while self._waiting and len(self._running) < self.slots:
            request = self._waiting.popleft()
            end = self.now + request.tokens * SECONDS_PER_TOKEN
            heapq.heappush(self._running, (end, next(self._order), request))


class SlowPlayer:
    """A random player whose replies take the time of a language model's, through the stand-in. A `Concurrent` player,
    unless its `act` is called by the schedule `rounds`."""

    def __init__(self, engine: StandIn) -> None:
        self._engine, self._random = engine, make_player("random")
        self.name, self.reader, self.style = "slow", self._random.reader, self._random.style

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        batch = Batch(len(asks), blocks=True)
        requests = [self._make_request(ask, batch) for ask in asks]
        self._engine.submit(requests)
        return [request.done.result() for request in requests]

    def submit(self, ask: Ask) -> Future[Reply]:
        request = self._make_request(ask, Batch(1, blocks=False))
        self._engine.submit([request])
        return request.done

    def _make_request(self, ask: Ask, batch: Batch) -> Request:
        drawn = stream(ask.seed, "tokens", ask.seat, ask.turn).lognormvariate(math.log(MEDIAN), SIGMA)
        return Request(min(MOST_TOKENS, max(1, round(drawn))), self._random.act([ask])[0], batch)


@dataclass
class SlowCast:
    """A `PlayerSource` with a new player for each step. No version is kept."""

    engine: StandIn

    def learner(self) -> Player:
        return SlowPlayer(self.engine)

    def recent(self, policy: Policy) -> Player:
        raise NotImplementedError

    def past(self, policy: Policy) -> Player:
        raise NotImplementedError

    def keep(self) -> Policy:
        raise NotImplementedError

    def let_go(self, policy: Policy) -> None:
        raise NotImplementedError


class Clockwork:
    """A run's rollouts with the stand-in: tells its clock which matches and steps are in progress."""

    def __init__(self, engine: StandIn, schedule: Schedule, staleness: int, steps: int, groups: int, size: int) -> None:
        self._engine, self._steps = engine, steps
        self._left: dict[int, int] = {}
        """Number of unfinished matches of each planned step."""
        self._awaited: int | None = None
        """The step that the learner's thread waits for."""
        config = TrainConfig(
            games=("tic_tac_toe",),
            steps=steps,
            rollout=RolloutSettings(groups=groups, group_size=size, growth=1.0),
            credit=GrpoSettings(),
        )
        planner = MatchPlanner(config, [load_game("tic_tac_toe")], SlowCast(engine))
        self._source = MatchRollouts(planner, LocalExecutor(schedule), self._record, staleness=staleness, steps=steps)
        self._plan, planner.plan = planner.plan, self._note_plan  # type: ignore[method-assign]

    def run(self) -> None:
        """Take all steps."""
        with closing(self._source):
            for step in range(self._steps):
                self._await(step)
                self._source.roll_out(step)
                self._engine.sleep(UPDATE)
                self._source.published(step + 1)

    def _await(self, step: int) -> None:
        with self._engine.changed:
            if self._left.get(step, 1):
                self._awaited = step
                self._engine.note(is_learning=False)

    def _note_plan(self, step: int, playing: Collection[Policy] = ()) -> list[PlannedGroup]:
        planned = self._plan(step, playing)
        self._left[step] = sum(len(one.jobs) for one in planned)
        self._engine.note(self._left[step])
        return planned

    def _record(self, played: MatchResult) -> None:
        step = int(played.job.id.split("-")[1])
        with self._engine.changed:
            self._left[step] -= 1
            if not self._left[step] and self._awaited == step:
                self._awaited = None
                self._engine.note(is_learning=True)
            self._engine.note(-1)


def measure(schedule: Schedule, staleness: int, slots: int, steps: int, groups: int, size: int) -> dict[str, Any]:
    """Return the figures of one setting."""
    engine = StandIn(slots)
    thread = Thread(target=engine.run, daemon=True)
    thread.start()
    Clockwork(engine, schedule, staleness, steps, groups, size).run()
    engine.close()
    thread.join()
    return {
        "slots": slots,
        "schedule": schedule,
        "staleness": staleness,
        "seconds_per_step": engine.now / steps,
        "idle": engine.idle / engine.now,
        "slots_used": engine.busy / (slots * engine.now),
        "seconds_all_slots_full": engine.busy / slots / steps,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--slots", type=int, nargs="+", default=[32, 128], help="replies that the engine samples at once"
    )
    parser.add_argument("--groups", type=int, default=32, help="groups per step, of four matches each")
    parser.add_argument("--steps", type=int, default=16, help="steps per setting")
    parser.add_argument("--staleness", type=int, nargs="+", default=[0, 1, 2, 4], help="values of engine.staleness")
    parser.add_argument("--schedule", nargs="+", default=["rounds", "streaming"], help="values of engine.schedule")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    rows = [
        measure(schedule, staleness, slots, given.steps, given.groups, 4)
        for slots in given.slots
        for schedule in given.schedule
        for staleness in given.staleness
    ]
    head = [
        "slots, schedule, staleness",
        "seconds per step",
        "with all slots full",
        "no reply in progress",
        "slots used",
    ]
    lines = [
        [
            f"{row['slots']}, {row['schedule']}, {row['staleness']}",
            f"{row['seconds_per_step']:.0f}",
            f"{row['seconds_all_slots_full']:.0f}",
            f"{row['idle']:.0%}",
            f"{row['slots_used']:.0%}",
        ]
        for row in rows
    ]
    text = (
        f"{given.steps} steps of {given.groups * 4} matches of tic-tac-toe; updates of {UPDATE:.0f} s; replies of "
        f"{MEDIAN} tokens in the median and at most {MOST_TOKENS:,}, {1 / SECONDS_PER_TOKEN:.0f} tokens per second and "
        f"slot.\n\n{table(head, lines)}"
    )
    write(given.out, "rollout_idle", {"about": about("gymposium", "gymposium-train"), "rows": rows}, text)


if __name__ == "__main__":
    main()
