"""Checks of rewards: finite numbers for every trajectory, equal ones for equal groups, and forfeits included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gymposium.driver import MatchJob, play
from gymposium.errors import BadReward, GymposiumError, Unrated
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.reading import READERS, Reader
from gymposium.rewards.protocol import Reward
from gymposium.testing.checks.seeds import generators_left_alone
from gymposium.testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, short
from gymposium.testing.parts import PluginPart, games_to_try, reward_of, seeds_for
from gymposium.testing.walk import AnyPlayer
from gymposium.trajectories import Trajectory

_POLICIES = ("forfeit", "penalty(0.5,2)")


@dataclass(slots=True)
class _Unreadable:
    """A player whose replies never read as a move."""

    reader: Reader = READERS["move"]
    name: str = "unreadable"
    style: Style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply("") for _ in asks]


def _groups(part: PluginPart, seed: int, effort: Effort, *, forfeits: bool) -> Iterator[list[Trajectory]]:
    """Yield one group of trajectories for each game and seat; with `forfeits`, every match ends by one."""
    for game in games_to_try(part):
        for loser in range(game.seats) if forfeits else (None,):
            players: list[Player] = [AnyPlayer() if seat != loser else _Unreadable() for seat in range(game.seats)]
            results = list(play(_jobs(game, players, seed, effort), at_once=effort.draws))
            for seat in range(game.seats):
                yield [Trajectory.of(result, seat) for result in results]


def _jobs(game: Game, players: Sequence[Player], seed: int, effort: Effort) -> Iterator[MatchJob]:
    [deal] = seeds_for(seed, 1)  # a group has one deal
    for number, player_seed in enumerate(seeds_for(seed, effort.draws)):
        policy = FailurePolicy.parse(_POLICIES[number % len(_POLICIES)])
        yield MatchJob(str(number), game, players, deal, player_seed=player_seed, on_illegal=policy, note_pay=True)


def _rated(part: PluginPart, seed: int, effort: Effort, *, forfeits: bool = False) -> Iterator[list[Trajectory]]:
    """Yield the groups that the reward rates.

    Raises `CheckFailed` for a bad reward, and `NotApplicable` if it rates none."""
    refusals: list[str] = []
    rated = False
    for group in _groups(part, seed, effort, forfeits=forfeits):
        try:
            _rewards(part, group)
        except (Unrated, GymposiumError) as error:
            refusals.append(f"{group[0].game.name}: {error}")
            continue
        rated = True
        yield group
    if not rated:
        raise NotApplicable(f"it rates none of the games that were tried ({'; '.join(dict.fromkeys(refusals))})")


def _rewards(part: PluginPart, group: list[Trajectory]) -> list[Reward]:
    try:
        return reward_of(part)(group)
    except BadReward as error:
        raise CheckFailed(
            str(error),
            where=f"{group[0].game.name}, seat {group[0].seat}",
            do="return a Reward of finite numbers for each trajectory of the group, in order.",
        ) from error


def rewards_are_finite(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward gives each trajectory of a group, of every seat, a finite total, finite parts, and turns that add up."""
    for _ in _rated(part, seed, effort):
        pass


def forfeits_are_rewarded(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward also rates matches that ended by a forfeit, for the seat that forfeited and for the others."""
    for _ in _rated(part, seed, effort, forfeits=True):
        pass


def equal_groups_get_equal_rewards(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward gives equal groups equal rewards, whether asked again or made anew."""
    for group in _rated(part, seed, effort):
        reward = reward_of(part)
        first, again, anew = reward(group), reward(group), _rewards(part, group)
        if not first == again == anew:
            raise CheckFailed(
                f"equal groups get other rewards: {short(first)}, then {short(again)}, then {short(anew)}.",
                where=f"{group[0].game.name}, seat {group[0].seat}",
                do="compute rewards from the trajectories alone, without a generator or a count of calls.",
            )


def rewards_leave_the_global_generators_alone(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A reward draws nothing from the global generators of Python and NumPy, and seeds neither."""
    for group in _rated(part, seed, effort):
        with generators_left_alone(part.name, "compute rewards from the trajectories alone."):
            _rewards(part, group)
