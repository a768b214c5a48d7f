"""Teachers of a run: the choice of one for its games (`teacher=auto`), and language models that score tokens."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

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
from gymposium_train.config.checks import find_contradictions
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.references import find_unknown
from gymposium_train.config.root import AUTO_TEACHER, NO_TEACHER
from gymposium_train.config.stages import PAST, SELF
from gymposium_train.config.unused import find_unused
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


class ResolvedTeacher(NamedTuple):
    """A config without `teacher=auto`."""

    config: TrainConfig
    remark: str = ""
    """What the user should know about the choice: why no teacher suits, or why it only teaches in the cold start."""


def resolve_teacher(config: TrainConfig) -> ResolvedTeacher:
    """Return the config with a player's name in place of `teacher=auto`, or without a teacher if none suits. A slow
    search only teaches in the cold start.

    Raises `BadConfig` if the run makes no sense with this choice."""
    if config.teacher != AUTO_TEACHER:
        return ResolvedTeacher(config)
    games = [load_game(name) for name in config.games]
    finders = [_find_exact, _find_specialist]
    if plays_itself(config):  # an equilibrium does not exploit a fixed opponent
        finders.append(_find_equilibrium)
    if found := next((name for find in finders for name in find(games)), None):
        return ResolvedTeacher(config.model_copy(update={"teacher": found}))
    least = SIMULATIONS[-1]
    try:
        seconds = _time_searches(games)
    except GymposiumError as error:
        return _resolve_to(config, NO_TEACHER, f"no teacher suits. {error}")
    if fast := [count for count in SIMULATIONS if seconds * count / least <= SECONDS]:
        return ResolvedTeacher(config.model_copy(update={"teacher": f"mcts-{fast[0]}"}))
    slow = f"a search with {least} simulations takes {1000 * seconds:.0f} ms per decision, more than"
    if seconds > MOST_SECONDS:
        return _resolve_to(config, NO_TEACHER, f"no teacher suits, because {slow} {1000 * MOST_SECONDS:.0f} ms.")
    unweighted = config.model_copy(update={"distillation": config.distillation.model_copy(update={"weight": 0.0})})
    why = f"mcts-{least} only teaches in the cold start, because {slow} {1000 * SECONDS:.0f} ms."
    return _resolve_to(unweighted, f"mcts-{least}", why)


def _resolve_to(config: TrainConfig, teacher: str, why: str) -> ResolvedTeacher:
    """Return the config with a teacher or none, and a remark that also names the settings without effect."""
    resolved = config.model_copy(update={"teacher": teacher})
    remark = f"teacher = {AUTO_TEACHER}: {why}"
    if problems := [*find_contradictions(resolved), *find_unknown(resolved)]:
        raise BadConfig([remark, *problems])
    unused = [problem.partition(" = ")[0] for problem in find_unused(resolved)]
    return ResolvedTeacher(resolved, f"{remark} Without effect: {', '.join(unused)}." if unused else remark)


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
    """Return the CPU seconds per decision of the search with the fewest simulations, in the slowest game. Raises
    `GymposiumError` if it does not play them all, or if something is hidden."""
    for game in games:
        if game.spec.information == "imperfect":
            raise GymposiumError(
                f"{game.name} has hidden information, so only cfr-{ITERATIONS} could suit, in small games against self."
            )
    return max(_time_search(game, SIMULATIONS[-1]) for game in games)


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
