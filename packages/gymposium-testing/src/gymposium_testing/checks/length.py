"""Check length: matches end within the declared number of decisions, whatever the replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gymposium.games.protocol import Game, Style
from gymposium.match import BrokenPromise, EngineError, MatchJob, MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS, Reader
from gymposium_testing.checks.replies import make_hostile_texts
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, format_events
from gymposium_testing.walk import AnyPlayer, derive_match_seed

_POLICIES = tuple(map(FailurePolicy.parse, ("forfeit", "random", "retry(2)", "penalty(0.5,2)")))
_READERS = tuple(READERS.values())


def random_matches_end(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Matches end within `max_decisions`, with random moves and with hostile replies under every failure policy."""
    for result in _play_jobs(game, seed, effort):
        if result.ending.seat is not None and result.job.id.startswith("any"):
            raise CheckFailed(
                f"seat {result.ending.seat} played the listed move {result.turns[-1].text!r}, but it is not legal.",
                where=f"{game.name}, seed {result.job.seed}, after {format_events(result.events)}",
                fix="let legal_moves() list only what apply() accepts.",
            )


def _play_jobs(game: Game, seed: int, effort: Effort) -> Iterator[MatchResult]:
    try:
        yield from play(_make_jobs(game, seed, effort), at_once=64)
    except EngineError as error:
        if not isinstance(error.__cause__, BrokenPromise):
            raise
        raise CheckFailed(
            f"{error.__cause__}.",
            where=f"{game.name}, seed {error.played.job.seed}",
            fix="compute it from the rules: budgets, scores and the length of contexts depend on it.",
        ) from error


def _make_jobs(game: Game, seed: int, effort: Effort) -> Iterator[MatchJob]:
    player = AnyPlayer()
    for number in range(effort.matches):
        yield MatchJob(f"any-{number}", game, [player] * game.seats, derive_match_seed(seed, number))
    for number in range(max(4, effort.matches // 10)):
        players = [_HostilePlayer(_READERS[number % len(_READERS)])] * game.seats
        policy = _POLICIES[number % len(_POLICIES)]
        yield MatchJob(f"hostile-{number}", game, players, derive_match_seed(seed, number), on_illegal=policy)


@dataclass(slots=True)
class _HostilePlayer:
    """A player that sends hostile texts and sometimes a move."""

    reader: Reader
    name: str = "enemy"
    style: Style = "full"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        legal = ask.legal_moves
        if legal and ask.rng.random() < 0.6:
            return Reply(self.reader.answer(legal[int(ask.rng.random() * len(legal))]))
        texts = make_hostile_texts(legal)
        text = texts[int(ask.rng.random() * len(texts))]
        return Reply(text, "length" if ask.rng.random() < 0.1 else "stop")
