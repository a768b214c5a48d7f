"""Who plays: the matches of a step, planned from the config, what came of earlier matches, and named streams."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from gymposium.driver import MatchJob
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.rewards.match import score_of
from gymposium.streams import draw, stream
from gymposium.trajectories import Trajectory
from gymposium_agents.tokens import Policy
from gymposium_train.config import TrainConfig
from gymposium_train.config.schedules import group_size
from gymposium_train.config.stages import ALONE, PAST, SELF, check_stages, has_score
from gymposium_train.credit.make import make_credit
from gymposium_train.rollout.curriculum import Curriculum
from gymposium_train.rollout.player_source import PlayerSource
from gymposium_train.rollout.pool import PastVersions


@dataclass(frozen=True, slots=True)
class Planned:
    """One set of matches: one game, match seed and opponent. What differs is what the players draw."""

    game: Game
    opponent: str
    """Who takes the other seats, as the stage names it; `alone` where there are none."""
    version: Policy | None
    """Which past version that is, where it is one."""
    seats: tuple[int, ...]
    """Those that the learner learns from: one, or all in self-play. Each makes a group of its own."""
    stage: int
    """The stage of the curriculum, counted from 0."""
    jobs: tuple[MatchJob, ...]


@dataclass(frozen=True, slots=True)
class MatchGroup:
    """The trajectories of one seat in matches with the same game, match seed and opponent."""

    game: Game
    seat: int
    opponent: str
    """The opponent's name in the stage; `alone` in a game with one seat."""
    trajectories: list[Trajectory]
    """In the order of the plan, not in that of the matches' ends: short matches end first, and are often lost."""
    version: Policy | None = None
    """The past version that was the opponent, if it was one."""
    stage: int = 0
    """The stage in which the matches were planned, counted from 0."""

    @property
    def role(self) -> str:
        return f"{self.game.name} seat {self.seat}"

    def facts(self) -> dict[str, Any]:
        return {
            "game": self.game.name,
            "seat": self.seat,
            "opponent": self.opponent,
            "version": None if self.version is None else str(self.version),
            "stage": self.stage + 1,
        }

    def trajectory_facts(self, number: int) -> dict[str, Any]:
        trajectory = self.trajectories[number]
        return {
            "match": trajectory.match,
            "result": trajectory.result,
            "end": "forfeit" if trajectory.forfeited else "context" if trajectory.truncated else None,
            "return": trajectory.returns[trajectory.seat],
            "readings": [turn.reading for turn in trajectory.turns],
        }


class MatchPlanner:
    """Plans one step after the other, in order: `plan`, then the matches are played, then `note`, then the next step.
    What it plans follows from the config's seed, the step, and the results that were noted before."""

    def __init__(self, config: TrainConfig, games: Sequence[Game], cast: PlayerSource) -> None:
        """Raises `BadOption` for stages that make no sense, `UnknownName` for an opponent that nobody knows."""
        check_stages(config.stages, games)
        self._config, self._games, self._cast = config, games, cast
        self._on_illegal = FailurePolicy.parse(config.asking.on_illegal)
        self._note_pay = make_credit(config.credit).needs_turn_rewards
        named = dict.fromkeys(name for stage in config.stages for name in stage.opponents)
        self._players = {name: make_player(name) for name in named if name not in (SELF, PAST)}
        self._keeps_versions = PAST in named
        self.curriculum = Curriculum(config.stages)
        self.past = PastVersions(config.pool, cast)

    def plan(self, step: int) -> list[Planned]:
        """The matches of this step, one set for each group of the config (in self-play a set makes one group for each
        seat). Sets take turns over the games and, in each game, over the seats, on and on over the steps.

        Versions of the policy are kept and let go here, between two rollouts."""
        if self._keeps_versions:
            self.past.keep(step)
        learner = self._cast.learner()
        versions: dict[Policy, Player] = {}
        return [self._set(step, number, learner, versions) for number in range(self._config.rollout.groups)]

    def note(self, groups: Sequence[MatchGroup]) -> dict[str, float]:
        """What came of a step's matches: for the curriculum, and for whom of the past versions is met how often. Gives
        metrics of the stage that was played."""
        for group in groups:
            if group.version is not None and has_score(group.game):
                self.past.note(group.version, _scores(group))
        self.curriculum.note(_in_turn([_scores(group) for group in groups if self._counts(group)]))
        metrics = self._metrics()
        self.curriculum.move()
        return metrics

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold to go on with the same plans, as plain data."""
        return {**self.curriculum.state(), "past": self.past.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave; the cast must still have the past versions in it. Raises `GymposiumError` where
        the settings have changed since."""
        self.curriculum.restore(state)
        self.past.restore(state["past"])

    def _set(self, step: int, number: int, learner: Player, versions: dict[Policy, Player]) -> Planned:
        """One set of matches. `versions` are the players of past versions that this step has met already: one player is
        asked once for all of its matches."""
        config, seed = self._config, self._config.seed
        turn = step * config.rollout.groups + number
        game = self._games[turn % len(self._games)]
        seat = turn // len(self._games) % game.seats
        opponent, version = self._opponent(game, stream(seed, "opponent", step, number))
        if version is not None and version not in versions:
            versions[version] = self._cast.past(version)
        other = self._players.get(opponent, learner) if version is None else versions[version]
        players = [learner if s == seat else other for s in range(game.seats)]
        match_seed = stream(seed, "train", step, number).getrandbits(48)
        jobs = (
            MatchJob(
                id=f"train-{step}-{number}-{member}",
                game=game,
                players=players,
                seed=match_seed,
                player_seed=stream(seed, "train", step, number, member).getrandbits(48),
                on_illegal=self._on_illegal,
                note_pay=self._note_pay,
            )
            for member in range(group_size(config, step))
        )
        seats = tuple(range(game.seats)) if opponent == SELF else (seat,)
        return Planned(game, opponent, version, seats, self.curriculum.number, tuple(jobs))

    def _opponent(self, game: Game, rng: random.Random) -> tuple[str, Policy | None]:
        if game.seats == 1:
            return ALONE, None
        shares = self.curriculum.stage.opponents
        together = sum(shares.values())
        name = [*shares][draw([(index, share / together) for index, share in enumerate(shares.values())], rng)]
        return name, self.past.draw(rng) if name == PAST else None

    def _counts(self, group: MatchGroup) -> bool:
        """Whether it tells how good the learner is against the present stage's opponents. Against itself it scores a
        half however good it is; where it plays alone, no opponent has a part in it."""
        return group.stage == self.curriculum.number and group.opponent not in (SELF, ALONE) and has_score(group.game)

    def _metrics(self) -> dict[str, float]:
        metrics: dict[str, float] = {"rollout/stage": self.curriculum.number + 1}
        if (score := self.curriculum.score) is not None:
            metrics["rollout/stage_score"] = score
        if self._keeps_versions:
            metrics["rollout/past_versions"] = len(self.past.versions)
        return metrics


def _scores(group: MatchGroup) -> list[float]:
    return [score_of(trajectory) for trajectory in group.trajectories]


def _in_turn(scores: Sequence[Sequence[float]]) -> Iterator[float]:
    """The first of each, then the second of each, and so on: a window over the newest then holds as much of every
    group, and so of every seat and game."""
    for together in zip_longest(*scores):
        yield from (score for score in together if score is not None)
