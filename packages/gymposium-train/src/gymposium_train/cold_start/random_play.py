"""Matches of uniform random players, and those of their moves that are kept as lessons."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gymposium.driver import MatchJob, MatchResult, play
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer
from gymposium.prompt import prompt_for
from gymposium.reading import Reader
from gymposium.records import recorded
from gymposium.rewards.match import returns_by_turn
from gymposium.streams import stream
from gymposium.trajectories import Trajectory
from gymposium_agents.context import Exchange, context as context_called
from gymposium_train.cold_start.lessons import Lesson

BEST_SHARE = 0.25
"""In a game that is played alone, moves of this share of the matches are kept: those with the best score."""
UNPAID = 4
"""Where moves are kept that were paid for, so is one in so many of the others."""

_PAST = "random author"


class RandomAuthor:
    """A uniform random player that notes, with each move, what a language model would have been told before it."""

    name = RandomPlayer.name

    def __init__(self, style: Style, reader: Reader, context: str) -> None:
        self._random = RandomPlayer()
        self.reader = self._random.reader
        self.style: Style = style
        self._model_reader = reader
        self._context = context_called(context)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies = self._random.act(asks)
        for ask, reply in zip(asks, replies, strict=True):
            told = Exchange.of(ask, prompt_for(ask.game, self.style, self._model_reader))
            past: list[Exchange] = ask.memory.setdefault(_PAST, [])
            answer = self._model_reader.answer(reply.text)
            reply.trace = Lesson(tuple(self._context.messages(past, told)), answer)
            past.append(Exchange(told.first, told.later, answer))
        return replies


def random_games(
    game: Game,
    style: Style,
    reader: Reader,
    *,
    matches: int,
    seed: int,
    tag: str,
    each: Callable[[MatchResult], object],
    context: str = "state",
    note_pay: bool = False,
) -> list[MatchResult]:
    """Finished matches of random authors, each also handed to `each`. `note_pay` is what `paid_moves` needs."""
    author = RandomAuthor(style, reader, context)
    seeds = (stream(seed, tag, n).getrandbits(48) for n in range(matches))
    jobs = (
        # one seed for the deal and the authors, who draw from streams of their own and look at no seed
        MatchJob(f"{tag}-{n}", game, [author] * game.seats, one, player_seed=one, note_pay=note_pay)
        for n, one in enumerate(seeds)
    )
    return list(recorded(play(jobs), each))


def all_moves(finished: Sequence[MatchResult]) -> list[Lesson]:
    """Lessons of every move of every seat."""
    return [turn.trace for played in finished for turn in played.turns]


def paid_moves(finished: Sequence[MatchResult]) -> list[Lesson]:
    """Every move that its seat was paid for before its next turn, and one in `UNPAID` of the others: without them a
    model does not learn to answer where no move pays.

    Raises `ValueError` where the matches did not note what they paid, `GymposiumError` where no move was paid for."""
    paid: list[Lesson] = []
    others: list[Lesson] = []
    for played in finished:
        for seat in sorted({turn.seat for turn in played.turns}):
            trajectory = Trajectory.of(played, seat)
            pays = returns_by_turn(trajectory)
            if pays is None:
                raise ValueError("what a move was paid is known of matches that were played with note_pay=True alone")
            for turn, pay in zip(trajectory.turns, pays, strict=True):
                (paid if pay > 0 else others).append(turn.trace)
    if not paid:
        raise GymposiumError(
            f"No move of {len(finished)} random matches was paid for, so there is nothing to imitate. Play more of "
            f"them (cold_start.games), or keep other moves (cold_start.keep)."
        )
    return paid + others[::UNPAID]


def winners_moves(finished: Sequence[MatchResult]) -> list[Lesson]:
    """Lessons of every move by a seat that won.

    Raises `GymposiumError` where nobody won a single match."""
    if finished and finished[0].job.game.seats == 1:
        kept = sorted(finished, key=lambda p: -p.returns[0])[: math.ceil(len(finished) * BEST_SHARE)]
        lessons = [turn.trace for played in kept for turn in played.turns]
    else:
        lessons = [turn.trace for played in finished for turn in played.turns if played.result(turn.seat) == "win"]
    if not lessons:
        raise GymposiumError(
            f"Nobody won any of {len(finished)} random matches, so there is nothing to imitate. Play more of them "
            f"(cold_start.games), or start from a model that knows how to answer (model.name, cold_start.steps = 0)."
        )
    return lessons
