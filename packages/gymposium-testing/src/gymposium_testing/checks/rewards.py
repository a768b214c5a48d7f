"""Check rewards: they are finite for every trajectory, equal for equal groups, and defined for forfeits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gymposium.errors import BadReward
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.protocol import CheckedReward, Reward
from gymposium_testing.checks.seeds import guard_generators
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, shorten
from gymposium_testing.parts import PluginPart, derive_seeds, list_games, run_attempts
from gymposium_testing.walk import AnyPlayer

_POLICIES = tuple(map(FailurePolicy.parse, ("forfeit", "penalty(0.5,2)")))


class _UnreadablePlayer(AnyPlayer):
    """A player whose replies never parse as a move."""

    name = "unreadable"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply("") for _ in asks]


def _play_groups(part: PluginPart, seed: int, effort: Effort, *, forfeits: bool) -> Iterator[list[Trajectory]]:
    """Yield one group of trajectories per game and seat. With `forfeits`, every match ends in a forfeit."""
    [deal] = derive_seeds(seed, 1)  # a group has one deal
    for game in list_games(part):
        for loser in range(game.seats) if forfeits else (None,):
            players: list[Player] = [
                AnyPlayer() if seat != loser else _UnreadablePlayer() for seat in range(game.seats)
            ]
            jobs = [
                MatchJob(
                    str(number),
                    game,
                    players,
                    deal,
                    player_seed=player_seed,
                    on_illegal=_POLICIES[number % len(_POLICIES)],
                    store_returns=True,
                )
                for number, player_seed in enumerate(derive_seeds(seed, effort.draws))
            ]
            results = list(play(jobs, at_once=effort.draws))
            for seat in range(game.seats):
                yield [Trajectory.from_match(result, seat) for result in results]


def _rate_groups(
    part: PluginPart, seed: int, effort: Effort, *, forfeits: bool = False
) -> Iterator[tuple[list[Trajectory], list[Reward]]]:
    """Yield the groups that the reward function can rate, with their rewards.

    Raises `CheckFailed` for an invalid reward, and `NotApplicable` if it rates no group."""
    groups = _play_groups(part, seed, effort, forfeits=forfeits)
    return run_attempts((group[0].game.name, partial(_rate_group, part, group)) for group in groups)


def _rate_group(part: PluginPart, group: list[Trajectory]) -> tuple[list[Trajectory], list[Reward]]:
    """Return the group, and its rewards from a new reward function."""
    try:
        return group, CheckedReward(part.name, part.make())(group)
    except BadReward as error:
        raise CheckFailed(
            str(error),
            where=_describe_group(group),
            fix="return a Reward of finite numbers for each trajectory, in order.",
        ) from error


def _describe_group(group: Sequence[Trajectory]) -> str:
    return f"{group[0].game.name}, seat {group[0].seat}"


def rewards_are_finite(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward gives every trajectory a finite total, finite parts, and turn rewards that add up."""
    list(_rate_groups(part, seed, effort))


def forfeits_are_rewarded(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward rates matches that ended in a forfeit, for the forfeiting seat and for the others."""
    list(_rate_groups(part, seed, effort, forfeits=True))


def equal_groups_get_equal_rewards(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward gives equal groups equal rewards, from one reward function or from two."""
    for group, first in _rate_groups(part, seed, effort):
        reward = CheckedReward(part.name, part.make())
        second, third = reward(group), reward(group)
        if not first == second == third:
            raise CheckFailed(
                f"equal groups get different rewards: {shorten(first)}; from a new reward function {shorten(second)}, "
                f"and from the same function again {shorten(third)}.",
                where=_describe_group(group),
                fix="compute rewards only from the trajectories, without a random generator or call counter.",
            )


def rewards_leave_global_generators_alone(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward neither draws from nor seeds the global generators of Python and NumPy."""
    for group, _ in _rate_groups(part, seed, effort):
        with guard_generators(part.name, "compute rewards only from the trajectories."):
            _rate_group(part, group)
