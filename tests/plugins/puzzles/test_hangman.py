"""Hangman: letters appear in all their places, and wrong guesses and turns end the game."""

import pytest

from gymposium import load_game
from gymposium.games.protocol import Match
from gymposium.games.rules import CHANCE, Event, RulesGame
from gymposium_puzzles.deduction.hangman import Hangman
from gymposium_puzzles.puzzle import Guesses


def guess_letters(secret: str, letters: str, **params: object) -> Match:
    game = load_game("hangman", letters=len(secret), **params)
    return game.load([Event(CHANCE, secret), *(Event(0, letter) for letter in letters)])


def test_letters_appear_in_all_their_places() -> None:
    match = guess_letters("letters", "tex")
    assert "Word: _ e t t e _ _\nLetters that it does not have: x (1 of 8).\n" in match.observe(0).text
    assert "t" not in (match.legal_moves(0) or [])


@pytest.mark.parametrize(
    ("letters", "params", "score"),
    [
        ("bxqz", {"wrong": 3}, 0.0),
        ("xbeqt", {"turns": 5}, 0.0),
        ("abet", {"turns": 4}, 0.0),
        ("bear", {"wrong": 1}, 1.0),
    ],
)
def test_game_ends_after_the_last_guess(letters: str, params: dict[str, int], score: float) -> None:
    assert guess_letters("bear", letters[:-1], **params).to_move() == (0,)
    match = guess_letters("bear", letters, **params)
    assert match.to_move() == ()
    assert match.returns() == (score,)


def test_solver_guesses_the_letter_of_most_fitting_words() -> None:
    game = load_game("hangman", letters=4)
    assert isinstance(game, RulesGame)
    rules = game.author
    assert isinstance(rules, Hangman)
    guesses = Guesses(None, (("e", "_e__"), ("s", "___s")))
    fitting = [word for word in rules.secrets if word[1] == "e" and word[3] == "s" and not {*"es"} & {word[0], word[2]}]
    assert rules.find_secrets(guesses) == fitting
    most = max(sum(letter in word for word in fitting) for letter in rules.list_guesses(guesses))
    assert sum(rules.solve(guesses) in word for word in fitting) == most
