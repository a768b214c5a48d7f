"""Planned matches are split into parts: each match once, in order, optionally in whole batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, strategies as st

from gymposium.match import MatchJob
from gymposium.players.protocol import Player
from gymposium.records import RecordLine
from gymposium.runs.executors.cutting import FIRST, GROWTH, SECONDS, PartCutter
from gymposium.runs.executors.protocol import PartResult, RunPart


@dataclass(frozen=True)
class NumberedMatches:
    """Planned matches that nobody plays."""

    id: str = "numbered"
    players: tuple[str, ...] = ()

    def make_player(self, name: str) -> Player:
        raise NotImplementedError

    def jobs(self, players: Sequence[Player], numbers: Sequence[int]) -> list[MatchJob]:
        raise NotImplementedError


def done(part: RunPart, seconds: float) -> PartResult:
    """The part, played in this time."""
    return PartResult(part, [RecordLine(str(number), True, "") for number in part.numbers], seconds=seconds)


missing_numbers = st.sets(st.integers(0, 2_000), max_size=300).map(sorted)


@given(missing=missing_numbers, at_once=st.integers(1, 100), whole=st.booleans(), seconds=st.floats(0.001, 100.0))
def test_each_match_is_in_exactly_one_part(missing: list[int], at_once: int, whole: bool, seconds: float) -> None:
    cut = PartCutter(NumberedMatches(), missing, len(missing), at_once=at_once, watchdog=None, whole_batches=whole)
    parts = []
    while cut.remaining:
        parts.append(cut.next_part())
        cut.add(done(parts[-1], seconds))
    assert [number for part in parts for number in part.numbers] == missing
    assert cut.in_progress == 0
    if whole:
        for before, after in pairwise(parts):
            assert before.numbers[-1] // at_once < after.numbers[0] // at_once
    for part in parts:
        batches = list(part.batches())
        assert [number for batch in batches for number in batch] == list(part.numbers)
        assert all(batch[0] // at_once == batch[-1] // at_once for batch in batches)


def test_parts_grow_to_the_target_duration() -> None:
    cut = PartCutter(NumberedMatches(), range(100_000), 100_000, at_once=64, watchdog=None, whole_batches=False)
    sizes = []
    while len(sizes) < 6:
        part = cut.next_part()
        sizes.append(len(part.numbers))
        cut.add(done(part, 0.01 * len(part.numbers)))
    assert sizes == [FIRST, FIRST * GROWTH, FIRST * GROWTH**2, *[int(SECONDS / 0.01)] * 3]
    cut.add(done(cut.next_part(), 1e6))
    assert len(cut.next_part().numbers) == 1


def test_stopped_part_is_the_last_one() -> None:
    cut = PartCutter(NumberedMatches(), range(100), 100, at_once=10, watchdog=None, whole_batches=False)
    first = cut.next_part()
    cut.add(PartResult(first, stopped=True))
    assert cut.remaining == 0


def test_careful_matches_are_played_one_by_one() -> None:
    part = RunPart(NumberedMatches(), (8, 9, 10, 11, 12), 10, None, careful=frozenset({10, 11}))
    assert list(part.batches()) == [(8, 9), (10,), (11,), (12,)]
