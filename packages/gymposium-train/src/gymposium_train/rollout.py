"""Rollouts: groups of matches through the one driver, and the learner's trajectories out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gymposium.driver import MatchJob, Played, play
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player
from gymposium.records import recorded
from gymposium.streams import stream
from gymposium.trajectories import Trajectory


@dataclass(slots=True)
class Rollout:
    """What one step of playing gave."""

    groups: list[list[Trajectory]]
    """The learner's trajectories, those that share a baseline together; their turns' traces hold the tokens."""
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
    """Play the jobs at once. `each` is called with every match as it ends."""
    place = {job.id: (group, seat) for job, group, seat in jobs}
    groups: dict[int, list[Trajectory]] = {group: [] for _, group, _ in jobs}
    rollout = Rollout([], 0, {})
    for played in recorded(play((job for job, _, _ in jobs), at_once=len(jobs)), each):
        group, seat = place[played.job.id]
        mine = Trajectory.of(played, seat)
        for turn in mine.turns:
            rollout.readings[turn.reading] = rollout.readings.get(turn.reading, 0) + 1
        if played.forfeit is not None and played.forfeit != seat:
            rollout.dropped += 1
            continue
        groups[group].append(mine)
    rollout.groups = [group for group in groups.values() if group]
    return rollout
