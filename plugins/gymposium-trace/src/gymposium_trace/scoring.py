"""How an answer is held against what the program printed."""

from __future__ import annotations


def exact(answer: str, truth: str) -> bool:
    """Whether they are the same to the letter, white space before the first and after the last visible character
    aside: readers of replies cut it off, and nobody can see it. Upper and lower case differ."""
    return answer.strip() == truth.strip() != ""


def tolerant(answer: str, truth: str) -> bool:
    """Whether they are the same with all white space taken out. Upper and lower case differ."""
    return "".join(answer.split()) == "".join(truth.split()) != ""
