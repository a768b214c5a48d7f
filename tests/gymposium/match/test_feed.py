"""Jobs that arrive while matches are played."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from threading import Timer

import pytest

from gymposium import load_game, make_player
from gymposium.match import FeedClosed, JobFeed, MatchJob, Schedule, play
from gymposium.players.protocol import Ask, Player, Reply

PATIENCE = 30.0


class Waiting:
    """A random player that answers single asks once `answer` is called."""

    def __init__(self) -> None:
        self._random = make_player("random")
        self.name, self.reader, self.style = "waiting", self._random.reader, self._random.style
        self.asks: list[tuple[Ask, Future[Reply]]] = []

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        return self._random.act(asks)

    def submit(self, ask: Ask) -> Future[Reply]:
        self.asks.append((ask, Future()))
        return self.asks[-1][1]

    def answer(self) -> None:
        for ask, future in self.asks:
            if not future.done():
                future.set_result(self._random.act([ask])[0])


def make_jobs(player: Player, *names: str) -> list[MatchJob]:
    return [MatchJob(name, load_game("kuhn_poker"), [player, player], 1) for name in names]


@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
def test_jobs_may_be_added_after_a_match(schedule: Schedule) -> None:
    """Also while `play` is about to end, and after it has ended."""
    player = make_player("random")
    feed = JobFeed(make_jobs(player, "a", "b"))
    ended = []
    for played in play(feed, schedule=schedule):
        ended.append(played.job.id)
        if len(ended) == 2:
            feed.add(make_jobs(player, "c"))
    assert sorted(ended) == ["a", "b", "c"]
    feed.add(make_jobs(player, "d"))
    assert feed.wait()
    assert [played.job.id for played in play(feed, schedule=schedule)] == ["d"]


def test_added_match_begins_while_all_others_wait() -> None:
    waiting, feed = Waiting(), JobFeed()
    feed.add(make_jobs(waiting, "slow"))
    timer = Timer(0.2, lambda: feed.add(make_jobs(make_player("random"), "late")))
    timer.start()
    matches = play(feed, schedule="streaming")
    assert next(matches).job.id == "late"
    feed.close()
    with pytest.raises(FeedClosed):
        next(matches)
    assert all(future.cancelled() for _, future in waiting.asks), "unfinished matches are abandoned"
    assert not feed.wait()


def test_closing_ends_play_while_all_matches_wait() -> None:
    feed = JobFeed(make_jobs(Waiting(), "slow"))
    Timer(0.2, feed.close).start()
    with pytest.raises(FeedClosed):
        next(play(feed, schedule="streaming"))


def test_threads_of_players_end_with_their_last_match() -> None:
    """A feed may be played for days, with a new player for each version of a policy."""

    def count_threads() -> int:
        return sum(thread.name.startswith("player ") for thread in threading.enumerate())

    def make_all() -> Iterator[MatchJob]:
        for number in range(40):
            yield from make_jobs(make_player("random"), f"m{number}")

    before = count_threads()
    counts = [count_threads() - before for _ in play(make_all(), at_once=2, schedule="streaming")]
    assert max(counts) < 20
