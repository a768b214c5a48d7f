"""Match outcomes from records: utilities, forfeits and duplicates."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given, strategies as st

from gymposium import load_game, make_player
from gymposium.match import MatchJob, play
from gymposium.match.ending import Ending
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records import Record
from gymposium.replies.reading import READERS, Reader
from gymposium_arena.outcomes import MatchOutcome, drop_duplicates, read_outcomes


class FirstMovePlayer:
    """Plays the first legal move, after some replies that are not moves."""

    name = "first"
    reader: Reader = READERS["move"]
    style = "compact"
    deterministic = True

    def __init__(self, nonsense: int = 0) -> None:
        self.nonsense = nonsense

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply("?" if ask.turn < self.nonsense else (ask.legal_moves or [""])[0]) for ask in asks]


def records(
    game: str, players: Sequence[Player], seeds: Sequence[int], opening: int = 0, policy: str = "forfeit"
) -> list[Record]:
    jobs = [
        MatchJob(f"m-{i}", load_game(game), players, seed, i, FailurePolicy.parse(policy), opening=opening)
        for i, seed in enumerate(seeds)
    ]
    return [Record.from_match(played) for played in play(jobs)]


def test_outcomes_exclude_penalties() -> None:
    clean, punished = (
        next(
            read_outcomes(
                records("kuhn_poker", (FirstMovePlayer(n), make_player("random")), [5], policy="penalty(0.5)")
            )
        )
        for n in (0, 1)
    )
    assert punished.utilities == clean.utilities
    assert sum(clean.utilities) == 0.0
    assert (clean.game, clean.group, clean.players, clean.forfeit) == ("kuhn_poker", "5", ("first", "random"), None)


def test_forfeits_name_the_seat() -> None:
    (outcome,) = read_outcomes(records("tic_tac_toe", (make_player("random"), FirstMovePlayer(1)), [5]))
    assert (outcome.forfeit, outcome.utilities) == (1, (1.0, -1.0))


def test_broken_matches_have_no_outcome() -> None:
    (record,) = records("tic_tac_toe", (FirstMovePlayer(), FirstMovePlayer()), [5])
    record.ending, record.returns = Ending("broke off", detail="RuntimeError: the engine is gone"), []
    assert list(read_outcomes([record])) == []


def test_equal_deterministic_matches_count_once() -> None:
    """Forty openings of one move on nine squares give nine different matches."""
    outcomes = [*read_outcomes(records("tic_tac_toe", (FirstMovePlayer(), FirstMovePlayer()), range(40), opening=1))]
    assert len(outcomes) == 40
    assert len(drop_duplicates(outcomes)) == 9


def test_equal_random_matches_all_count() -> None:
    """Kuhn poker has thirty possible courses. Counting each once would make likely courses look rare."""
    poker = [*read_outcomes(records("kuhn_poker", (make_player("random"), make_player("random")), range(100)))]
    assert len(drop_duplicates(poker)) == 100
    dealt = [*read_outcomes(records("kuhn_poker", (FirstMovePlayer(), FirstMovePlayer()), range(100)))]
    assert len(drop_duplicates(dealt)) == 100


def test_counts_duplicate_records_once() -> None:
    played = records("kuhn_poker", (make_player("random"), FirstMovePlayer()), range(5))
    assert len(drop_duplicates(read_outcomes(played + played))) == 5


@given(st.integers(0, 99))
def test_deduplication_does_not_depend_on_record_order(seed: int) -> None:
    outcomes = [
        MatchOutcome("g", str(i % 3), ("a", "b"), (1.0, -1.0), None, str(i // 2)) for i in range(8)
    ]  # the same matches on different deals
    shuffled = random.Random(seed).sample(outcomes, len(outcomes))
    assert drop_duplicates(shuffled) == drop_duplicates(outcomes)
    assert len(drop_duplicates(outcomes)) == 4
