"""Rollouts: groups of matches through the one driver, and the learner's trajectories out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gymposium.driver import MatchJob, Played, play
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player
from gymposium.streams import stream
from gymposium_agents.tokens import TurnTokens


@dataclass(slots=True)
class Trajectory:
    """One seat's turns in one match, and what it got."""

    group: int
    seat: int
    turns: list[TurnTokens]
    reward: float
    result: str


@dataclass(slots=True)
class Rollout:
    """What one step of playing gave."""

    trajectories: list[Trajectory]
    dropped: int
    """Trajectories left out because an opponent forfeited: what they got says nothing about them."""
    readings: dict[str, int]
    """The learner's replies by how they were read."""


def group_jobs(
    game: Game,
    learner: Player,
    opponent: Player,
    *,
    step: int,
    groups: int,
    group_size: int,
    seed: int,
    on_illegal: FailurePolicy,
) -> list[tuple[MatchJob, int, int]]:
    """Jobs of one step, each with its group and the learner's seat. A group shares game, match seed, seat
    and opponent; the opponent's and the sampling streams differ. Seats take turns over the groups."""
    jobs = []
    for group in range(groups):
        seat = (step * groups + group) % game.seats
        players = [learner if s == seat else opponent for s in range(game.seats)]
        match_seed = stream(seed, "train", step, group).getrandbits(48)
        for member in range(group_size):
            job = MatchJob(
                id=f"train-{step}-{group}-{member}",
                game=game,
                players=players,
                seed=match_seed,
                player_seed=stream(seed, "train", step, group, member).getrandbits(48),
                on_illegal=on_illegal,
            )
            jobs.append((job, group, seat))
    return jobs


def roll_out(jobs: Sequence[tuple[MatchJob, int, int]], each: Callable[[Played], object]) -> Rollout:
    """Play the jobs at once. `each` is called with every finished match."""
    place = {job.id: (group, seat) for job, group, seat in jobs}
    rollout = Rollout([], 0, {})
    for played in play((job for job, _, _ in jobs), at_once=len(jobs)):
        each(played)
        group, seat = place[played.job.id]
        mine = [turn for turn in played.turns if turn.seat == seat]
        for turn in mine:
            rollout.readings[turn.reading] = rollout.readings.get(turn.reading, 0) + 1
        if played.forfeit is not None and played.forfeit != seat:
            rollout.dropped += 1
            continue
        turns = [turn.trace for turn in mine]
        rollout.trajectories.append(Trajectory(group, seat, turns, played.returns[seat], played.result(seat)))
    rollout.trajectories.sort(key=lambda t: t.group)  # matches end in an order of their own
    return rollout
