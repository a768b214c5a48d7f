"""Questions: right answers, and invalid questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gymposium.tasks.questions import Question, QuestionFile


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (Question("Capital of France?", "Paris"), ["Paris", " Paris\n"], ["paris", "Paris.", "", "It is Paris"]),
        (
            Question("A half?", "0.5", "numeric"),
            ["0.5", ".5", "0.50", "5e-1", "+0.5", " .5 "],
            ["1/2", "0,5", "0.51", "", ".", "e5", "nan", "0.5 m", "٠.٥"],
        ),
        (Question("Ten thousand?", "10,000", "numeric"), ["10000", "10,000", "1e4", "10000.0"], ["10,00", "1,0000"]),
        (
            Question("Which?", "red", "choice", ("green", "red")),
            ["red", "B", "b", "(b)", "B.", "b)"],
            ["A", "C", "Red", "B red", "BB", ""],
        ),
        (Question("Which letter?", "A", "choice", ("B", "A")), ["A"], ["B"]),
    ],
)
def test_accepts_right_and_rejects_wrong_answers(question: Question, right: list[str], wrong: list[str]) -> None:
    assert [answer for answer in right if not question.is_right(answer)] == []
    assert [answer for answer in wrong if question.is_right(answer)] == []


@given(st.integers(), st.integers())
def test_numeric_answers_compare_by_value(one: int, other: int) -> None:
    assert Question("?", str(one), "numeric").is_right(str(other)) == (one == other)


@given(st.text())
def test_no_answer_text_raises(text: str) -> None:
    for question in (Question("?", "1", "numeric"), Question("?", "a", "choice", ("a", "b")), Question("?", "a")):
        question.is_right(text)


def test_question_text_includes_its_choices() -> None:
    question = Question("Which?", "red", "choice", ("green", "red"))
    assert question.text == "Which?\nA. green\nB. red\n"
    assert Question.load(question.dump()) == question


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], 'an object with a string "question"'),
        ({"question": "?"}, 'an object with a string "question"'),
        ({"question": "?", "answer": True}, 'an object with a string "question"'),
        ({"question": " ", "answer": "a"}, "must not be empty"),
        ({"question": "?", "answer": "a", "check": "near"}, "check 'near' must be one of exact, numeric, choice"),
        ({"question": "?", "answer": "a", "check": "numeric"}, "the answer 'a' is not a number"),
        ({"question": "?", "answer": "a", "choices": ["b", "c"]}, "not one of the choices"),
        ({"question": "?", "answer": "a", "choices": ["a", "a"]}, "different choices"),
        ({"question": "?", "answer": "a", "choices": "ab"}, "must be a list of strings"),
        ({"question": "?", "answer": "a", "choices": ["a", "b"], "check": "exact"}, "choices need check .choice"),
        ({"question": "?", "answer": "a", "hint": "b"}, "unknown keys: .hint."),
        ({"question": "?" * 20_001, "answer": "a"}, "more than 20,000"),
        ({"question": "?", "answer": "a" * 3_000_000}, "the answer has 3,000,000 characters"),
        ({"question": "?", "answer": "a", "choices": ["a", "b" * 3_000_000]}, "the choice has 3,000,000 characters"),
        ({"question": "?", "answer": "a", "check": "n" * 3_000_000}, "check 'nnn.*must be one of"),
        ({"question": "?", "answer": "a" * 20_000, "check": "numeric"}, "the answer 'aaa.*is not a number"),
        ({"question": "?", "answer": "a", "k" * 3_000_000: 1}, "unknown keys: 'kkk"),
        ({"question": "\ud800", "answer": "a"}, "the question contains a NUL character or a lone surrogate"),
        ({"question": "?", "answer": "a\0"}, "the answer contains a NUL character or a lone surrogate"),
    ],
)
def test_invalid_questions_are_refused(value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        Question.parse(value)
    assert len(str(refused.value)) < 200


def test_questions_are_drawn_deterministically_by_seed(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f'{{"question": "{n}?", "answer": {n}}}\n\n' for n in range(20)), encoding="utf-8")
    drawn = [QuestionFile(file).draw(seed) for seed in range(300)]
    assert {question.answer for question in drawn} == {str(n) for n in range(20)}
    assert drawn == [QuestionFile(file).draw(seed) for seed in range(300)]
