"""Cold start: supervised fine-tuning before reinforcement learning, on random moves or on chat files."""

from gymposium_train.run.lessons.chats import read_chats
from gymposium_train.run.lessons.imitation import Ending, batches, cosine, imitate
from gymposium_train.run.lessons.lessons import (
    Lesson,
    Lessons,
    encode_prompt,
    exceeds_characters,
    list_moves,
    list_texts,
    tokenized,
)
from gymposium_train.run.lessons.random_play import RandomPlay, all_moves, paid_moves, winners_moves

__all__ = [
    "Ending",
    "Lesson",
    "Lessons",
    "RandomPlay",
    "all_moves",
    "batches",
    "cosine",
    "encode_prompt",
    "exceeds_characters",
    "imitate",
    "list_moves",
    "list_texts",
    "paid_moves",
    "read_chats",
    "tokenized",
    "winners_moves",
]
