"""The judge's answer parser returns exactly the requested scores, or none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import UnratedGroup
from gymposium_agents.judge.answer import NO_JSON, NO_SCORE, NOT_EACH_ONCE, read_scores

IDS = ["1", "2"]


def scores(*pairs: tuple[object, object]) -> str:
    return json.dumps({"scores": [{"id": name, "explanation": "well", "score": score} for name, score in pairs]})


GOOD = scores(("2", 0.25), ("1", 1))


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        f"\n{GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```\n",
        f"<think>2 is worse. {{}}</think>\n{GOOD}",
        f"2 is worse.</think>```json\n{GOOD}```",  # the template had opened the thoughts
        f"[THINK]2 is worse. {{}}[/THINK]\n{GOOD}</s>",
        f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}<|return|>",
        f"<think>2</think>{GOOD.replace('well', 'it wrote </think>')}",
        GOOD.replace("well", "it wrote </think> and ```"),
        GOOD.replace('"1"', "1"),
        '{"scores": [{"id": "1", "score": 1.0}, {"id": "2", "score": 0.25}], "winner": "1"}',
    ],
)
def test_scores_are_matched_by_id(answer: str) -> None:
    assert list(read_scores(answer, IDS).items()) == [("1", 1.0), ("2", 0.25)]


@given(st.dictionaries(st.integers(1, 40).map(str), st.floats(0, 1), min_size=1), st.randoms())
def test_scores_round_trip(given: dict[str, float], rng: object) -> None:
    ids = sorted(given)
    assert read_scores(scores(*given.items()), ids) == given


@pytest.mark.parametrize(
    ("answer", "reason", "says"),
    [
        ("", NO_JSON, ""),
        ("The first one is better.", NO_JSON, "It says: The first one is better."),
        (f"Here you are: {GOOD}", NO_JSON, "Here you are"),
        (f"{GOOD} I hope this helps.", NO_JSON, ""),
        (f"{GOOD}{GOOD}", NO_JSON, ""),
        (GOOD[:-2], NO_JSON, ""),
        ("[" * 100_000, NO_JSON, "[[["),
        ("```" + " " * 900_000 + "x", NO_JSON, ""),
        (" " * 1_000_000 + GOOD, NO_JSON, "1,000,000 are read"),
        ('{"scores": [{"id": "\\ud800", "score": 1}, {"id": "1", "score": 1}]}', NOT_EACH_ONCE, "\\ud800"),
        ("null", NO_JSON, ""),
        ("[1, 0]", NO_JSON, ""),
        ('{"1": 1, "2": 0}', NO_JSON, ""),
        ('{"scores": {"1": 1, "2": 0}}', NO_JSON, ""),
        ('{"scores": [1, 0]}', NO_JSON, ""),
        ('{"scores": [{"id": "1", "score": 0, "score": 1}, {"id": "2", "score": 0}]}', NO_JSON, ""),
        (f'{GOOD[:-1]}, "scores": []}}', NO_JSON, ""),
        (scores(("1", 1)), NOT_EACH_ONCE, "1 score for 2"),
        (scores(("1", 1), ("2", 0), ("3", 0)), NOT_EACH_ONCE, "3 scores for 2"),
        (scores(), NOT_EACH_ONCE, "0 scores for 2"),
        (scores(("1", 1), ("1", 0)), NOT_EACH_ONCE, "several scores for 1"),
        (scores(("1", 1), (1, 0)), NOT_EACH_ONCE, "several scores for 1"),
        (scores(("1", 1), ("3", 0)), NOT_EACH_ONCE, "Unknown ids: 3"),
        (scores(("1", 1), ("02", 0)), NOT_EACH_ONCE, "Unknown ids: 02"),
        (scores(("1", 1), (None, 0)), NOT_EACH_ONCE, "the id null"),
        (scores(("1", 1), (True, 0)), NOT_EACH_ONCE, "the id true"),
        (scores(("1", 1), (2.0, 0)), NOT_EACH_ONCE, "the id 2.0"),
        (scores(("1", 1), ("2", None)), NO_SCORE, "null for 2"),
        (scores(("1", 1), ("2", True)), NO_SCORE, "true for 2"),
        (scores(("1", 1), ("2", "0.5")), NO_SCORE, '"0.5" for 2'),
        (scores(("1", 1), ("2", [0.5])), NO_SCORE, "[0.5] for 2"),
        (scores(("1", 1), ("2", 1.01)), NO_SCORE, "1.01 for 2"),
        (scores(("1", 1), ("2", -0.01)), NO_SCORE, "-0.01 for 2"),
        (scores(("1", 1), ("2", 10**400)), NO_JSON, ""),
        (scores(("1", 1), ("2", float("nan"))), NO_JSON, ""),
        (scores(("1", 1), ("2", float("inf"))), NO_JSON, ""),
        ('{"scores": [{"id": "1", "score": 1e999}, {"id": "2", "score": 0}]}', NO_JSON, ""),
        ('{"scores": [{"id": "1"}, {"id": "2", "score": 0}]}', NO_SCORE, "null for 1"),
    ],
)
def test_invalid_answers_are_refused_with_a_reason(answer: str, reason: str, says: str) -> None:
    with pytest.raises(UnratedGroup) as caught:
        read_scores(answer, IDS)
    assert caught.value.reason == reason
    assert says in str(caught.value)
    assert len(str(caught.value)) < 400
