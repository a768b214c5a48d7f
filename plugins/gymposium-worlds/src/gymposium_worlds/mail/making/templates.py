"""Templates of questions, with separate wordings for `train` and `test`.

Every word of a test wording also occurs in a train wording or in a mail, so a trained player can read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Split = Literal["train", "test"]
SPLITS: tuple[Split, ...] = ("train", "test")

VALUE: Mapping[Split, tuple[str, ...]] = {
    "train": (
        "{what} is the {noun} of {topic}?",
        "{what} is the {noun} of {topic} now?",
        "Please tell me the {noun} of {topic}.",
        "Find out the {noun} of {topic}.",
        "I would like to know the {noun} of {topic}. Can you look it up?",
        "Somebody asked me about the {noun} of {topic}. {what} is it?",
    ),
    "test": (
        "Can you find out {what_within} the {noun} of {topic} is?",
        "I have to know the {noun} of {topic} now. Please look it up.",
        "Look up the {noun} of {topic} for me, please.",
    ),
}
"""Questions for a value: look-up, newest value, and values that the mailbox lacks."""

FIRST: Mapping[Split, tuple[str, ...]] = {
    "train": (
        "Who was the first to say that {claim}?",
        "Who said first that {claim}?",
        "Find out who was the first to write that {claim}.",
        "I would like to know who first said that {claim}.",
    ),
    "test": (
        "Please tell me who was the first to say that {claim}.",
        "Who was the first to write to me that {claim}?",
    ),
}
"""Questions for the first to say something."""

COUNT: Mapping[Split, tuple[str, ...]] = {
    "train": (
        "How many people will come to {topic}?",
        "Find out how many people will come to {topic}.",
        "How many of us will be there for {topic}?",
        "Please tell me how many people want to join {topic}.",
    ),
    "test": (
        "How many people want to come to {topic}?",
        "I would like to know how many of us will come to {topic}.",
    ),
}
"""Questions for a number of people."""
