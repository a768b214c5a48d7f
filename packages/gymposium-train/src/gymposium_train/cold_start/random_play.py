"""Matches of uniform random players, and the selection of their moves as lessons."""

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
"""Share of the matches, those with the best returns, of which moves are kept in a game with one seat."""
UNPAID = 4
"""One in this many of the unpaid moves is kept beside the paid ones."""

_PAST = "random author"


class RandomAuthor:
    """A uniform random player that records, as the trace of each reply, the lesson for a language model: the messages
    that it would have read, and its answer."""

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
            now = Exchange.of(ask, prompt_for(ask.game, self.style, self._model_reader))
            past: list[Exchange] = ask.memory.setdefault(_PAST, [])
            answer = self._model_reader.answer(reply.text)
            reply.trace = Lesson(tuple(self._context.messages(past, now)), answer)
            past.append(Exchange(now.first, now.later, answer))
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
    """Play matches of random authors and return them; `each` is called with every finished match. `paid_moves` needs
    `note_pay`."""
    author = RandomAuthor(style, reader, context)
    seeds = (stream(seed, tag, n).getrandbits(48) for n in range(matches))
    jobs = (
        # one seed for the deal and the authors, whose random streams differ
        MatchJob(f"{tag}-{n}", game, [author] * game.seats, match_seed, player_seed=match_seed, note_pay=note_pay)
        for n, match_seed in enumerate(seeds)
    )
    return list(recorded(play(jobs), each))


def all_moves(finished: Sequence[MatchResult]) -> list[Lesson]:
    """The lessons of every move of every seat."""
    return [turn.trace for played in finished for turn in played.turns]


def paid_moves(finished: Sequence[MatchResult]) -> list[Lesson]:
    """The lessons of every move after which its seat was paid before its next turn, and of one in `UNPAID` of the other
    moves: without them a model does not learn to answer when no move pays.

    Raises `ValueError` if the matches did not record payments, `GymposiumError` if no move was paid for."""
    paid: list[Lesson] = []
    others: list[Lesson] = []
    for played in finished:
        for seat in sorted({turn.seat for turn in played.turns}):
            trajectory = Trajectory.of(played, seat)
            pays = returns_by_turn(trajectory)
            if pays is None:
                raise ValueError("payments of moves are recorded only in matches that are played with note_pay=True")
            for turn, pay in zip(trajectory.turns, pays, strict=True):
                (paid if pay > 0 else others).append(turn.trace)
    if not paid:
        raise GymposiumError(
            f"No move of {len(finished)} random matches was paid for, so there is nothing to imitate. Play more of "
            f"them (cold_start.games), or keep other moves (cold_start.keep)."
        )
    return paid + others[::UNPAID]


def winners_moves(finished: Sequence[MatchResult]) -> list[Lesson]:
    """The lessons of every move by a seat that won; in a game with one seat, those of the best matches (`BEST_SHARE`).

    Raises `GymposiumError` if no match was won."""
    if finished and finished[0].job.game.seats == 1:
        best = sorted(finished, key=lambda played: -played.returns[0])
        lessons = all_moves(best[: math.ceil(len(finished) * BEST_SHARE)])
    else:
        lessons = [turn.trace for played in finished for turn in played.turns if played.result(turn.seat) == "win"]
    if not lessons:
        raise GymposiumError(
            f"None of {len(finished)} random matches was won, so there is nothing to imitate. Play more of them "
            f"(cold_start.games), or start from a model that can answer already (model.name, cold_start.steps = 0)."
        )
    return lessons
