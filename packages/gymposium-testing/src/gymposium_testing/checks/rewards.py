"""Checks of rewards: finite for every trajectory, equal for equal groups, and defined for forfeits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gymposium.errors import BadReward
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.protocol import CheckedReward, Reward
from gymposium_testing.checks.seeds import generators_left_alone
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, short
from gymposium_testing.parts import PluginPart, accepted, games_to_try, seeds_for
from gymposium_testing.walk import AnyPlayer

_POLICIES = tuple(map(FailurePolicy.parse, ("forfeit", "penalty(0.5,2)")))


class _Unreadable(AnyPlayer):
    """A player whose replies never parse as a move."""

    name = "unreadable"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply("") for _ in asks]


def _groups(part: PluginPart, seed: int, effort: Effort, *, forfeits: bool) -> Iterator[list[Trajectory]]:
    """Yield one group of trajectories for each game and seat; with `forfeits`, every match ends in one."""
    [deal] = seeds_for(seed, 1)  # a group has one deal
    for game in games_to_try(part):
        for loser in range(game.seats) if forfeits else (None,):
            players: list[Player] = [AnyPlayer() if seat != loser else _Unreadable() for seat in range(game.seats)]
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
                for number, player_seed in enumerate(seeds_for(seed, effort.draws))
            ]
            results = list(play(jobs, at_once=effort.draws))
            for seat in range(game.seats):
                yield [Trajectory.from_match(result, seat) for result in results]


def _rated(
    part: PluginPart, seed: int, effort: Effort, *, forfeits: bool = False
) -> Iterator[tuple[list[Trajectory], list[Reward]]]:
    """Yield the groups that the reward can rate, with their rewards.

    Raises `CheckFailed` for a bad reward, and `NotApplicable` if it rates no group."""
    groups = _groups(part, seed, effort, forfeits=forfeits)
    return accepted((group[0].game.name, partial(_rate, part, group)) for group in groups)


def _rate(part: PluginPart, group: list[Trajectory]) -> tuple[list[Trajectory], list[Reward]]:
    """Return the group with the rewards from a new reward function."""
    try:
        return group, CheckedReward(part.name, part.make())(group)
    except BadReward as error:
        raise CheckFailed(
            str(error), where=_where(group), do="return a Reward of finite numbers for each trajectory, in order."
        ) from error


def _where(group: Sequence[Trajectory]) -> str:
    return f"{group[0].game.name}, seat {group[0].seat}"


def rewards_are_finite(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward gives each trajectory in a group, for every seat, a finite total, finite parts, and turns that add
    up."""
    list(_rated(part, seed, effort))


def forfeits_are_rewarded(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward also rates matches that ended in a forfeit, for the forfeiting seat and for the others."""
    list(_rated(part, seed, effort, forfeits=True))


def equal_groups_get_equal_rewards(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward gives equal groups equal rewards, whether asked again or created anew."""
    for group, first in _rated(part, seed, effort):
        reward = CheckedReward(part.name, part.make())
        second, third = reward(group), reward(group)
        if not first == second == third:
            raise CheckFailed(
                f"equal groups get different rewards: {short(first)}; from a new reward function {short(second)}, and "
                f"from the same function again {short(third)}.",
                where=_where(group),
                do="compute rewards only from the trajectories, without a random generator or call counter.",
            )


def rewards_leave_the_global_generators_alone(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward neither draws from nor seeds the global generators of Python and NumPy."""
    for group, _ in _rated(part, seed, effort):
        with generators_left_alone(part.name, "compute rewards only from the trajectories."):
            _rate(part, group)
