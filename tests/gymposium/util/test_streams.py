"""Random streams: named, reproducible, independent of each other and of the global generators."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, strategies as st

from gymposium.util.streams import draw_outcome, stream


def test_streams_are_the_same_on_every_machine() -> None:
    assert stream(7, "chance").random() == 0.3031450004285998
    assert stream(7, "seat", 1).random() == 0.3213438406311533


@given(st.integers(), st.integers(), st.text(max_size=5), st.text(max_size=5))
def test_different_names_are_different_streams(seed: int, other: int, key: str, other_key: str) -> None:
    same = (seed, key) == (other, other_key)
    assert (stream(seed, "k", key).random() == stream(other, "k", other_key).random()) is same


def test_global_generators_are_untouched() -> None:
    before = random.getstate()
    stream(1, "a").random()
    draw_outcome([(0, 0.5), (1, 0.5)], stream(1, "b"))
    assert random.getstate() == before


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=6), st.integers())
def test_draw_takes_one_number_and_returns_an_outcome(weights: list[float], seed: int) -> None:
    outcomes = [(10 + i, weight / sum(weights)) for i, weight in enumerate(weights)]
    rng, twin = random.Random(seed), random.Random(seed)
    assert draw_outcome(outcomes, rng) in [outcome for outcome, _ in outcomes]
    twin.random()
    assert rng.getstate() == twin.getstate()


def test_draws_follow_the_probabilities() -> None:
    rng = stream(0, "test")
    counts = Counter(draw_outcome([(5, 0.2), (6, 0.5), (7, 0.3)], rng) for _ in range(10_000))
    assert all(abs(counts[k] - 10_000 * p) < 200 for k, p in ((5, 0.2), (6, 0.5), (7, 0.3)))


def test_probabilities_just_below_one_give_the_last_outcome() -> None:
    class Top(random.Random):
        def random(self) -> float:
            return 1 - 2**-53

    assert draw_outcome([(0, 0.5), (1, 0.5 - 1e-12)], Top()) == 1
