"""Teachers of a run: the choice of one for its games (`teacher=auto`), and language models that score tokens."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from gymposium.analysis.exact.graph import check_small
from gymposium.analysis.exact.minimax import Minimax
from gymposium.analysis.exact.players import CfrPlayer, ExactPlayer
from gymposium.analysis.exact.size import MOST_UNASKED
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.players.grammar import make_player
from gymposium.players.mcts import MctsPlayer
from gymposium.players.protocol import Ask, DistributionPlayer, Reply, check_plays
from gymposium.players.random import RandomPlayer
from gymposium.players.teaching import ask_teacher
from gymposium.plugins.host import host
from gymposium.plugins.names import parse_name
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config import TrainConfig
from gymposium_train.config.root import AUTO_TEACHER, NO_TEACHER
from gymposium_train.config.stages import PAST, SELF
from gymposium_train.learner.rows import Row, fill_spans

SECONDS = 0.003
"""Maximum CPU seconds of a search per decision. Imitating its recommendation takes about twice as long."""
MOST_SECONDS = 0.03
"""Maximum CPU seconds of a search with the fewest simulations that only teaches in the cold start."""
SIMULATIONS = (1000, 400, 200, 100)
"""Numbers of simulations to choose from."""
ITERATIONS = 500
"""Number of iterations of CFR+."""
MATCHES = 4
"""Number of random matches that time a search."""
TIMED_SECONDS = 1.0
"""Enough CPU seconds of searching to time it."""


def resolve_teacher(config: TrainConfig) -> TrainConfig:
    """Return the config with a player's name in place of `teacher=auto`, or without a teacher if none suits. A slow
    search only teaches in the cold start."""
    if config.teacher != AUTO_TEACHER:
        return config
    games = [load_game(name) for name in config.games]
    finders = [_find_exact, _find_specialist]
    if plays_itself(config):  # an equilibrium does not exploit a fixed opponent
        finders.append(_find_equilibrium)
    if found := next((name for find in finders for name in find(games)), None):
        return config.model_copy(update={"teacher": found})
    seconds, least = _time_searches(games), SIMULATIONS[-1]
    if fast := [count for count in SIMULATIONS if seconds * count / least <= SECONDS]:
        return config.model_copy(update={"teacher": f"mcts-{fast[0]}"})
    if seconds <= MOST_SECONDS:
        distillation = config.distillation.model_copy(update={"weight": 0.0})
        return config.model_copy(update={"teacher": f"mcts-{least}", "distillation": distillation})
    return config.model_copy(update={"teacher": NO_TEACHER})


def make_token_teacher(config: TrainConfig) -> Callable[[Sequence[Row], float], tuple[list[Row], float]]:
    """Return a function that adds a weight times the teacher's gain to the advantages of a step's tokens. The gain is
    the teacher's log-probability minus the learner's, and is taken relative to its mean. The mean with the opposite
    sign, an estimate of the reverse KL divergence per token, is also returned."""
    teacher = make_player(config.teacher)
    assert isinstance(teacher, LanguageModelPlayer)

    def teach_tokens(rows: Sequence[Row], weight: float) -> tuple[list[Row], float]:
        spans = [(row, span) for row in rows for span in row.spans]
        pairs = [(row.ids[: span.start], row.ids[span.start : span.stop]) for row, span in spans]
        scores = teacher.engine.score(pairs, temperature=config.prompting.temperature, policy=teacher.policy)
        differences = [
            [theirs - ours for theirs, ours in zip(score, span.old or span.engine, strict=True)]
            for score, (_, span) in zip(scores, spans, strict=True)
        ]
        total = math.fsum(span.weight * len(span) for _, span in spans)
        mean = math.fsum(span.weight * sum(part) for part, (_, span) in zip(differences, spans, strict=True)) / total
        gains = [tuple(weight * (difference - mean) for difference in part) for part in differences]
        return fill_spans(rows, token_advantages=gains), -mean

    return teach_tokens


def plays_itself(config: TrainConfig) -> bool:
    """Return whether all opponents are versions of the learner's own model."""
    return all({SELF, PAST}.issuperset(stage.opponents) for stage in config.stages)


def _find_exact(games: Sequence[Game]) -> Iterator[str]:
    """Yield exact play if all games are small."""
    with suppress(GymposiumError):
        for game in games:
            ExactPlayer().check_game(game)
            Minimax(game, 0, MOST_UNASKED, every=True).value(game.new(0))
        yield ExactPlayer.name


def _find_specialist(games: Sequence[Game]) -> Iterator[str]:
    """Yield players that were made for these games and know their move probabilities, if nothing is hidden."""
    if any(game.spec.information == "imperfect" for game in games):
        return
    bases = {parse_name(game.name)[0] for game in games}
    for spec in host().opponents.values():
        if bases.issubset(spec.games) and not spec.opens:
            for name in spec.offers():
                if isinstance(make_player(name), DistributionPlayer):
                    yield name


def _find_equilibrium(games: Sequence[Game]) -> Iterator[str]:
    """Yield CFR+ if all games have hidden information and are small."""
    player = CfrPlayer(ITERATIONS)
    with suppress(GymposiumError):
        for game in games:
            player.check_game(game)
            check_small(game)
        yield player.name


def _time_searches(games: Sequence[Game]) -> float:
    """Return the CPU seconds per decision of the search with the fewest simulations, in the slowest game. Infinite if
    it does not play them all, or if something is hidden."""
    if any(game.spec.information == "imperfect" for game in games):
        return math.inf
    with suppress(GymposiumError):
        return max(_time_search(game, SIMULATIONS[-1]) for game in games)
    return math.inf


def _time_search(game: Game, simulations: int) -> float:
    """Return the mean CPU seconds of a search per decision in random matches."""
    search = MctsPlayer(simulations)
    check_plays(search, game)
    player = _TimedTeacher(search)
    for _ in play(MatchJob(f"teacher-{n}", game, [player] * game.seats, n, player_seed=n) for n in range(MATCHES)):
        pass
    return player.seconds / player.decisions


class _TimedTeacher(RandomPlayer):
    """A uniform random player that measures how long a teacher takes at its decisions."""

    def __init__(self, teacher: MctsPlayer) -> None:
        self._teacher = teacher
        self.seconds, self.decisions = 0.0, 0

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        if self.seconds < TIMED_SECONDS:
            began = time.process_time()
            ask_teacher(self._teacher, asks[:1])
            self.seconds += time.process_time() - began
            self.decisions += 1
        return super().act(asks)
