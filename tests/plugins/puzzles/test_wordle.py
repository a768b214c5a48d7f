"""Wordle: colors count each letter once, the solver's patterns agree with the answers, and words are plain."""

import re

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.games.rules import RulesGame
from gymposium_puzzles.deduction.wordle import Wordle
from gymposium_puzzles.puzzle import Guesses
from gymposium_puzzles.words import LONGEST, SHORTEST, load_words


def make_rules(letters: int) -> Wordle:
    game = load_game("wordle", letters=letters)
    assert isinstance(game, RulesGame)
    assert isinstance(game.author, Wordle)
    return game.author


@pytest.mark.parametrize(
    ("secret", "guess", "colors"),
    [
        ("crane", "crane", "green green green green green"),
        ("abbey", "babes", "yellow yellow green green gray"),
        ("crane", "eerie", "gray gray yellow gray green"),
        ("sleep", "eerie", "yellow yellow gray gray gray"),
        ("those", "geese", "gray gray gray green green"),
    ],
)
def test_each_letter_of_the_word_gives_its_color_once(secret: str, guess: str, colors: str) -> None:
    answer = ", ".join(f"{letter} {color}" for letter, color in zip(guess, colors.split(), strict=True))
    assert make_rules(5).answer(secret, guess) == answer


@settings(max_examples=20)
@given(st.integers(SHORTEST, LONGEST), st.data())
def test_solver_keeps_the_secrets_that_fit_all_answers(letters: int, data: st.DataObject) -> None:
    rules = make_rules(letters)
    secret = data.draw(st.sampled_from(rules.secrets))
    guesses = data.draw(st.lists(st.sampled_from(rules.moves), min_size=1, max_size=2))
    made = tuple((guess, rules.answer(secret, guess)) for guess in guesses)
    fitting = [word for word in rules.secrets if all(rules.answer(word, guess) == answer for guess, answer in made)]
    assert rules.find_secrets(Guesses(None, made)) == fitting
    assert rules.solve(Guesses(None, made)) in fitting


@pytest.mark.parametrize("letters", range(SHORTEST, LONGEST + 1))
def test_words_are_sorted_lower_case_letters(letters: int) -> None:
    words = load_words(letters)
    assert list(words.every) == sorted(set(words.every))
    assert all(re.fullmatch(f"[a-z]{{{letters}}}", word) for word in words.every)
    assert set(words.common) < set(words.every)
    assert len(words.common) > 400
