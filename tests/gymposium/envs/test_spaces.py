"""The text space and the move space."""

from __future__ import annotations

import pickle

import numpy as np

from gymposium.envs.spaces import MAX_TEXT, Moves, UnicodeText


def test_text_space_holds_any_unicode_up_to_its_length() -> None:
    space = UnicodeText(5)
    assert "" in space
    assert "é\n∑ x" in space
    assert "123456" not in space
    assert b"abc" not in space
    assert 3 not in space
    assert "x" * MAX_TEXT in UnicodeText()


def test_text_samples_are_short_seeded_and_valid() -> None:
    one, two = UnicodeText(seed=3), UnicodeText(seed=3)
    samples = [one.sample() for _ in range(50)]
    assert samples == [two.sample() for _ in range(50)]
    assert all(sample in one and len(sample) <= 32 for sample in samples)
    assert len(set(samples)) > 40
    assert all(len(UnicodeText(2, seed=seed).sample()) <= 2 for seed in range(20))


def test_text_spaces_compare_by_length_and_pickle() -> None:
    assert UnicodeText(9) == UnicodeText(9) != UnicodeText(8)
    assert pickle.loads(pickle.dumps(UnicodeText(9))) == UnicodeText(9)


def test_moves_hold_indices_and_text() -> None:
    space = Moves(9, seed=0)
    assert 4 in space
    assert np.int64(8) in space
    assert "b2" in space
    assert 9 not in space
    assert -1 not in space
    assert 1.5 not in space
    mask = np.zeros(9, np.int8)
    mask[[2, 5]] = 1
    assert {int(space.sample(mask)) for _ in range(40)} == {2, 5}
    assert pickle.loads(pickle.dumps(space)) == space
