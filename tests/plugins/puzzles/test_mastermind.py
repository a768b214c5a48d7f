"""Mastermind: answers count exact and misplaced pegs, and the solver is as good as Knuth's strategy."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import permutations

import pytest

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium.games.rules import RulesGame
from gymposium_puzzles.deduction.mastermind import Mastermind
from gymposium_puzzles.puzzle import Guesses


def make_rules(**params: object) -> Mastermind:
    game = load_game("mastermind", **params)
    assert isinstance(game, RulesGame)
    assert isinstance(game.author, Mastermind)
    return game.author


def count_guesses(rules: Mastermind) -> Counter[int]:
    """Return how many secrets the solver finds with each number of guesses."""
    found: Counter[int] = Counter()

    def follow(made: tuple[tuple[str, str], ...], secrets: Sequence[str]) -> None:
        guess = rules.choose(Guesses(None, made), secrets)
        parts = defaultdict(list)
        for secret in secrets:
            parts[rules.answer(secret, guess)].append(secret)
        for answer, part in parts.items():
            if guess in part:
                found[len(made) + 1] += 1
            else:
                follow((*made, (guess, answer)), part)

    follow((), rules.secrets)
    return found


@pytest.mark.parametrize(
    ("secret", "guess", "answer"),
    [
        ("1 2 3 4", "1 2 3 4", "4 exact, 0 misplaced"),
        ("1 2 3 4", "4 3 2 1", "0 exact, 4 misplaced"),
        ("1 1 2 2", "1 2 1 1", "1 exact, 2 misplaced"),
        ("1 2 2 3", "2 2 2 2", "2 exact, 0 misplaced"),
        ("1 1 1 1", "2 3 4 5", "0 exact, 0 misplaced"),
    ],
)
def test_answers_count_each_peg_once(secret: str, guess: str, answer: str) -> None:
    assert make_rules().answer(secret, guess) == answer


def test_solver_needs_as_many_guesses_as_knuths_strategy() -> None:
    """Knuth's table: 5 guesses at most, and 5801 for all 1296 codes."""
    rules = make_rules()
    found = count_guesses(rules)
    assert rules.choose(Guesses(None, ()), rules.secrets) == "1 1 2 2"
    assert max(found) == 5
    assert sum(count * secrets for count, secrets in found.items()) == 5801


def test_guesses_are_codes_without_duplicates() -> None:
    rules = make_rules(pegs=2, duplicates=False)
    assert set(rules.moves) == {f"{one} {other}" for one, other in permutations("123456", 2)}
    assert max(count_guesses(rules)) == 4


def test_impossible_codes_are_refused() -> None:
    with pytest.raises(BadParameter, match="a code of 4 pegs without duplicates needs 4 colors"):
        load_game("mastermind", colors=3, duplicates=False)
