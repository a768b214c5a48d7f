"""How an answer is held against what the program printed."""

from __future__ import annotations


def exact(answer: str, truth: str) -> bool:
    """Whether they are the same to the letter, upper and lower case and every space. Only the line break at the very
    end may be there or not, in either. What cannot be seen is never right."""
    return answer.removesuffix("\n") == truth.removesuffix("\n") and bool(answer.strip())


def ignoring_white_space(answer: str, truth: str) -> bool:
    """Whether they are the same with all white space taken out. Upper and lower case differ."""
    return "".join(answer.split()) == "".join(truth.split()) and bool(answer.strip())
