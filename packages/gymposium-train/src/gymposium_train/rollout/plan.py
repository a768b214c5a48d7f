"""The plan of a step's matches, derived from the config, earlier results, and random streams."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import fmean
from typing import Any

from gymposium.games.protocol import Game
from gymposium.match import MatchJob, play
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.players.random import RandomPlayer
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.match import compute_score
from gymposium.util.streams import draw_outcome, stream
from gymposium_agents.chat.tokens import Policy
from gymposium_train.config import TrainConfig
from gymposium_train.config.schedules import RunProgress, compute_growth
from gymposium_train.config.stages import ALONE, PAST, SELF, check_stages, is_scorable
from gymposium_train.credit.make import make_credit
from gymposium_train.rollout.curriculum import Curriculum
from gymposium_train.rollout.mix import GameMix
from gymposium_train.rollout.pool import PastVersions
from gymposium_train.rollout.protocol import Group, PlayerSource
from gymposium_train.rollout.stored import StoredSet

TYPICAL_MATCHES = 8
"""Number of random matches used to estimate turns per match before the first step."""


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """Matches with the same game, match seed and opponent. Only the players' random streams differ."""

    game: Game
    opponent: str
    """The opponent's name in the stage, or `alone` in a single-player game."""
    version: Policy | None
    """The past version that plays as the opponent, if any."""
    seats: tuple[int, ...]
    """The seats the learner learns from: one, or all in self-play. Each has its own group."""
    stage: int
    """The stage of the game's curriculum, counted from 0. Always 0 in a single-player game."""
    jobs: tuple[MatchJob, ...]
    number: int = 0
    """The set's number in its step, counted from 0. Sets that replace tied ones have higher numbers."""
    seat: int = 0
    """The learner's seat if another player has the other seats."""

    def to_stored(self) -> StoredSet:
        """Return the set for a checkpoint."""
        return StoredSet(
            self.number,
            self.game.name,
            self.seat,
            self.opponent,
            self.version,
            self.stage,
            tuple(job.id for job in self.jobs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchGroup(Group):
    """The trajectories of one seat in matches with the same game, match seed and opponent."""

    trajectories: tuple[Trajectory, ...]
    """The trajectories in planned order. Completion order would be biased, because short matches end first and are
    often lost."""
    game: Game
    seat: int
    opponent: str
    """The opponent's name in the stage, or `alone` in a single-player game."""
    version: Policy | None = None
    """The past version that played as the opponent, if any."""
    stage: int = 0
    """The number of the stage that planned the matches, from 0."""

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
    """A planner of matches, step by step: call `plan`, play the matches, call `note` with their results, and repeat. A
    plan follows from the config's seed, the step, and the results noted so far."""

    def __init__(
        self, config: TrainConfig, games: Sequence[Game], source: PlayerSource, pace: RunProgress | None = None
    ) -> None:
        """`source` makes the players of the policy. `pace` is the run's progress, by default measured in steps. Raises
        `BadOption` for invalid stages, and `UnknownName` for an unknown opponent."""
        check_stages(config.stages, games)
        self._config, self._games, self._source = config, games, source
        self._pace = pace or RunProgress(config)
        self._turns = {} if config.rollout.groups else {game.name: estimate_turns(game) for game in games}
        """The mean number of turns per trajectory in each game, from the latest step with trajectories in it."""
        shares = config.game_shares or (1.0,) * len(games)
        weights = {game.name: share for game, share in zip(games, shares, strict=True)}
        self._mix = GameMix(weights, config.rollout.sampling)
        self._on_illegal = config.prompting.policy()
        self._note_pay = make_credit(config.credit).needs_turn_rewards
        names = dict.fromkeys(name for stage in config.stages for name in stage.opponents)
        self._players = {name: make_player(name) for name in names if name not in (SELF, PAST)}
        self._keeps_versions = PAST in names
        self.curricula = {game.name: Curriculum(config.stages) for game in games if game.seats > 1}
        """One curriculum per multiplayer game, so that an easy game does not promote a hard one."""
        self.past = PastVersions(config.pool, source)

    def plan(self, step: int, playing: Collection[Policy] = ()) -> list[PlannedGroup]:
        """Plan the matches of this step, in sets. In self-play, a set has one group per seat. If the config fixes the
        number of sets, they rotate over the games by their shares, and over the seats of each game, across steps.
        Otherwise all seats of a game have equally many sets.

        Adds past versions of the policy, and releases those that no longer play. `playing` are the versions in matches
        of earlier plans."""
        if self._keeps_versions:
            self.past.keep(step, playing)
        learner = self._source.learner()
        versions: dict[Policy, Player] = {}
        roles = enumerate(self._list_roles(step))
        return [self._plan_set(step, number, game, seat, learner, versions) for number, (game, seat) in roles]

    def replace(self, step: int, tied: PlannedGroup, sets: int) -> PlannedGroup:
        """Plan a set in place of a tied one of the same step, which `plan` gave `sets` sets. The game, the learner's
        seat and the learner's version stay. All else is drawn anew, independent of what else was replaced."""
        learner = tied.jobs[0].players[tied.seat]
        return self._plan_set(step, tied.number + sets, tied.game, tied.seat, learner, {})

    def check_sets(self, sets: Iterable[StoredSet]) -> None:
        """Raise `ValueError` for sets of a checkpoint that cannot be planned again."""
        if unknown := {one.game for one in sets} - {game.name for game in self._games}:
            raise ValueError(f"it has matches of {min(unknown)}, which this run does not learn")

    def restore_sets(self, step: int, sets: Iterable[StoredSet]) -> list[PlannedGroup]:
        """Plan sets of a checkpoint again, with the newest version as the learner."""
        learner = self._source.learner()
        versions: dict[Policy, Player] = {}
        games = {game.name: game for game in self._games}
        restored = []
        for stored in sets:
            if stored.version is not None:
                self.past.borrow(stored.version)
            restored.append(
                self._make_set(
                    step,
                    number=stored.number,
                    game=games[stored.game],
                    seat=stored.seat,
                    opponent=stored.opponent,
                    version=stored.version,
                    stage=stored.stage,
                    size=len(stored.jobs),
                    learner=learner,
                    versions=versions,
                )
            )
        return restored

    def note(self, groups: Sequence[MatchGroup]) -> dict[str, float]:
        """Note the results of a step's matches and return metrics of the stage played. The next stage, the choice of
        past versions, and group sizes depend on them."""
        for game in self._turns:
            if turns := [len(one.turns) for group in groups if group.game.name == game for one in group.trajectories]:
                self._turns[game] = fmean(turns)
        for group in groups:
            if group.version is not None and is_scorable(group.game):
                self.past.note(group.version, _list_scores(group))
        self._mix.note(_list_scores_by_game(groups))
        counted = [group for group in groups if self._counts_for_stage(group)]
        for name, curriculum in self.curricula.items():
            curriculum.note(_interleave_scores([_list_scores(group) for group in counted if group.game.name == name]))
        metrics = self._compute_stage_metrics()
        if self._keeps_versions:
            metrics["rollout/past_versions"] = len(self.past.versions)
        for curriculum in self.curricula.values():
            curriculum.move()
        return metrics

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint, as plain data. A planner that restores it makes the same plans."""
        stages = {name: curriculum.state() for name, curriculum in self.curricula.items()}
        return {
            "stages": stages,
            "past": self.past.state(),
            "turns": dict(self._turns),
            "scores": dict(self._mix.scores),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned. The player source must still have its past versions. Raises `GymposiumError`
        if the settings have changed since."""
        for name, curriculum in self.curricula.items():
            curriculum.restore(state["stages"][name])
        self.past.restore(state["past"])
        self._turns = dict(state["turns"])
        self._mix.scores = dict(state["scores"])

    def _compute_stage_metrics(self) -> dict[str, float]:
        """Return the stage played and its mean score, per game and averaged over games."""
        stages = {name: float(curriculum.number + 1) for name, curriculum in self.curricula.items()}
        scores = {name: one.score for name, one in self.curricula.items() if one.score is not None}
        metrics: dict[str, float] = {}
        for metric, values in (("stage", stages), ("stage_score", scores)):
            if values:
                metrics[f"rollout/{metric}"] = fmean(values.values())
            metrics |= {f"rollout/{name}/{metric}": value for name, value in values.items()}
        return metrics

    def _list_roles(self, step: int) -> Iterator[tuple[Game, int]]:
        """Yield the game and the learner's seat for each set of this step."""
        settings, games = self._config.rollout, self._games
        if settings.groups is not None:
            for number, before in self._mix.take(step * settings.groups, settings.groups):
                yield games[number], before % games[number].seats
            return
        decisions = settings.decisions * compute_growth(self._config, self._pace(step))
        for game, share in zip(games, self._mix.compute_shares(), strict=True):
            sets = max(1, round(decisions * share / (self._turns[game.name] * settings.group_size * game.seats)))
            yield from ((game, seat) for _ in range(sets) for seat in range(game.seats))

    def _compute_group_size(self, step: int) -> int:
        settings = self._config.rollout
        ratio = 1.0 if settings.groups is None else compute_growth(self._config, self._pace(step))
        return round(settings.group_size * ratio)

    def _plan_set(
        self, step: int, number: int, game: Game, seat: int, learner: Player, versions: dict[Policy, Player]
    ) -> PlannedGroup:
        """Plan one set of matches. `versions` caches this step's players of past versions, so that each version answers
        all its matches in one batch."""
        opponent, version = self._draw_opponent(game, stream(self._config.seed, "opponent", step, number))
        return self._make_set(
            step,
            number=number,
            game=game,
            seat=seat,
            opponent=opponent,
            version=version,
            stage=self.curricula[game.name].number if game.seats > 1 else 0,
            size=self._compute_group_size(step),
            learner=learner,
            versions=versions,
        )

    def _make_set(
        self,
        step: int,
        *,
        number: int,
        game: Game,
        seat: int,
        opponent: str,
        version: Policy | None,
        stage: int,
        size: int,
        learner: Player,
        versions: dict[Policy, Player],
    ) -> PlannedGroup:
        """Return a set with its matches."""
        seed = self._config.seed
        if version is not None and version not in versions:
            versions[version] = self._source.past(version)
        other = self._players.get(opponent, learner) if version is None else versions[version]
        match_seed = stream(seed, "train", step, number).getrandbits(48)
        players = [learner if s == seat else other for s in range(game.seats)]
        jobs = (
            MatchJob(
                id=f"train-{step}-{number}-{member}",
                game=game,
                players=players,
                seed=match_seed,
                player_seed=stream(seed, "train", step, number, member).getrandbits(48),
                on_illegal=self._on_illegal,
                store_returns=self._note_pay,
            )
            for member in range(size)
        )
        seats = tuple(range(game.seats)) if opponent == SELF else (seat,)
        return PlannedGroup(game, opponent, version, seats, stage, tuple(jobs), number, seat)

    def _draw_opponent(self, game: Game, rng: random.Random) -> tuple[str, Policy | None]:
        if game.seats == 1:
            return ALONE, None
        shares = self.curricula[game.name].stage.opponents
        total = sum(shares.values())
        name = [*shares][draw_outcome([(index, share / total) for index, share in enumerate(shares.values())], rng)]
        return name, self.past.draw(rng) if name == PAST else None

    def _counts_for_stage(self, group: MatchGroup) -> bool:
        """Return True if the group's scores measure the learner against the opponents of the game's current stage.
        Self-play scores average one half at any strength, and single-player games have no opponent."""
        if group.opponent in (SELF, ALONE) or not is_scorable(group.game):
            return False
        return group.stage == self.curricula[group.game.name].number


def estimate_turns(game: Game) -> float:
    """Estimate the mean number of turns per seat from a few matches of random players. Returns 1 if random players
    cannot play the game."""
    if not game.spec.plays_at_random:
        return 1.0
    jobs = (
        MatchJob(f"typical-{n}", game, [RandomPlayer()] * game.seats, n, player_seed=n) for n in range(TYPICAL_MATCHES)
    )
    return max(1.0, fmean(len(played.turns) for played in play(jobs)) / game.seats)


def _list_scores_by_game(groups: Sequence[MatchGroup]) -> dict[str, list[float]]:
    """Return the scores of the learner against others, or alone, in each game."""
    scores: dict[str, list[float]] = {}
    for group in groups:
        if group.opponent != SELF and is_scorable(group.game):
            scores.setdefault(group.game.name, []).extend(_list_scores(group))
    return scores


def _list_scores(group: MatchGroup) -> list[float]:
    return [compute_score(trajectory) for trajectory in group.trajectories]


def _interleave_scores(scores: Sequence[Sequence[float]]) -> Iterator[float]:
    """Yield the first score of each group, then the second of each, and so on. A window over the newest scores then
    covers all groups, and so all seats, equally."""
    return (score for nth in zip_longest(*scores) for score in nth if score is not None)
