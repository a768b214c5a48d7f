"""Matches of uniform random players, and the selection of their moves as lessons.

Matches are played in lots, sized by the number of lessons wanted. A long game then takes no longer than a short one,
and only one lot is in memory at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game, Style
from gymposium.match import MatchJob, MatchResult, play
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer
from gymposium.records import record_matches
from gymposium.records.trajectories import Trajectory
from gymposium.replies.reading import Reader
from gymposium.rewards.match import split_return
from gymposium.util.streams import stream
from gymposium_agents.chat.context import Pictures
from gymposium_train.config import Keep
from gymposium_train.run.lessons.lessons import Lesson
from gymposium_train.run.lessons.writing import LessonWriter

BEST_SHARE = 0.25
"""Share of the matches to take moves from in a single-player game: those with the best returns."""
UNPAID = 4
"""One in this many unpaid moves is kept in addition to the paid moves."""

LEAST = 16
"""Number of matches played before a lot's size is first estimated."""
MOST = 64
"""Maximum number of moves played per lesson wanted. A lot that reaches it ends with fewer lessons."""


class RandomAuthor:
    """A uniform random player that records lessons for a language model. The trace of each reply is a lesson: the
    messages that the model would have read, and its answer."""

    name = RandomPlayer.name

    def __init__(self, style: Style, writer: LessonWriter) -> None:
        self._random, self._writer = RandomPlayer(), writer
        self.reader = self._random.reader
        self.style: Style = style

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies = self._random.act(asks)
        for ask, reply in zip(asks, replies, strict=True):
            now = self._writer.show(ask)
            reply.trace = self._writer.write(ask, now, reply.text)
            self._writer.remember(ask, now, reply.text)
        return replies


class RandomPlay:
    """Random matches of one game, with moves kept as lessons, lot by lot. All random numbers follow from the seed, the
    tag, and the match number."""

    def __init__(
        self,
        game: Game,
        style: Style,
        reader: Reader,
        *,
        seed: int,
        tag: str,
        each: Callable[[MatchResult], object] = lambda played: None,
        context: str = "state",
        pictures: Pictures = "none",
        keep: Keep = "winners",
        matches: int | None = None,
    ) -> None:
        """`each` is called with every finished match. `matches` limits the number of matches. By default it is
        unlimited."""
        self._game, self._author = game, RandomAuthor(style, LessonWriter(style, reader, context, pictures))
        self._seed, self._tag, self._each, self._keep, self._matches = seed, tag, each, keep, matches
        self._played = 0
        self._newest: list[Lesson] = []

    def lot(self, lessons: int) -> list[Lesson]:
        """Play matches until they yield at least this many lessons, and return those. Returns fewer if fewer than one
        in `MOST` moves yields a lesson. Once `matches` are played, returns the newest lot again.

        Raises `GymposiumError` if no move of a lot is worth imitating."""
        finished: list[MatchResult] = []
        kept: list[Lesson] = []
        missing = LEAST
        while missing and len(kept) < lessons and sum(len(played.turns) for played in finished) < MOST * lessons:
            finished += self.play(missing)
            kept = KEPT[self._keep](finished)
            wanted = math.ceil((lessons - len(kept)) * len(finished) / max(1, len(kept)))
            missing = self._count_allowed(min(max(1, wanted), len(finished)))
        if finished and not kept:
            raise GymposiumError(
                f"No move of {len(finished)} random matches of {self._game.name} is worth imitating with "
                f"cold_start.keep={self._keep}. Use cold_start.keep=all to imitate every move, or start with a model "
                f"that can already answer (model.name, cold_start.steps=0)."
            )
        self._newest = kept or self._newest
        return self._newest

    def play(self, matches: int) -> list[MatchResult]:
        """Play this many more matches, or all that are left, and return those that ended. Raises `GymposiumError` if
        all broke off."""
        numbers = range(self._played, self._played + self._count_allowed(matches))
        self._played = numbers.stop
        results = list(record_matches(play(map(self._make_job, numbers)), self._each))
        ended = [played for played in results if not played.ending.broke_off]
        if results and not ended:
            raise GymposiumError(
                f"All {len(results)} random matches of {self._game.name} broke off: {results[0].ending.detail}"
            )
        return ended

    def _make_job(self, number: int) -> MatchJob:
        # one seed for the deal and the authors, whose random streams differ
        seed = stream(self._seed, self._tag, number).getrandbits(48)
        authors = [self._author] * self._game.seats
        return MatchJob(
            f"{self._tag}-{number}", self._game, authors, seed, player_seed=seed, store_returns=self._keep == "paid"
        )

    def _count_allowed(self, matches: int) -> int:
        return matches if self._matches is None else min(matches, self._matches - self._played)


def list_all_moves(finished: Sequence[MatchResult]) -> list[Lesson]:
    """Return the lessons of every move of every seat."""
    return [turn.trace for played in finished for turn in played.turns]


def list_paid_moves(finished: Sequence[MatchResult]) -> list[Lesson]:
    """Return the lessons of every move that was paid before the seat's next turn, and one in `UNPAID` of the others.
    Without those, a model does not learn to answer when no move pays. Returns an empty list if no move was paid.

    Raises `ValueError` if the matches did not record payments."""
    paid: list[Lesson] = []
    others: list[Lesson] = []
    for played in finished:
        for seat in sorted({turn.seat for turn in played.turns}):
            trajectory = Trajectory.from_match(played, seat)
            pays = split_return(trajectory)
            if pays is None:
                raise ValueError("payments were not recorded: play the matches with store_returns=True")
            for turn, pay in zip(trajectory.turns, pays, strict=True):
                (paid if pay > 0 else others).append(turn.trace)
    return paid + others[::UNPAID] if paid else []


def list_winners_moves(finished: Sequence[MatchResult]) -> list[Lesson]:
    """Return the lessons of every move by a winning seat. Seats that tie for first place count as winners if another
    seat did worse. In a single-player or cooperative game, uses the best matches (`BEST_SHARE`)."""
    if finished and _wins_together(finished[0].job.game):
        best = sorted(finished, key=lambda played: -played.returns[0])
        return list_all_moves(best[: math.ceil(len(finished) * BEST_SHARE)])
    return [
        turn.trace
        for played in finished
        for turn in played.turns
        if min(played.utilities) < played.utilities[turn.seat] == max(played.utilities)
    ]


def _wins_together(game: Game) -> bool:
    """Return True if no seat can do better than another."""
    return game.seats == 1 or game.spec.utility == "cooperative"


KEPT: Mapping[Keep, Callable[[Sequence[MatchResult]], list[Lesson]]] = {
    "winners": list_winners_moves,
    "all": list_all_moves,
    "paid": list_paid_moves,
}
"""Functions that select moves of finished matches, by value of `cold_start.keep`."""
