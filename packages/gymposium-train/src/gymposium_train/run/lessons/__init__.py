"""Cold start: supervised fine-tuning before reinforcement learning, on random moves or on chat files."""

from gymposium_train.run.lessons.answering import answer_lessons
from gymposium_train.run.lessons.chats import read_chats
from gymposium_train.run.lessons.files import read_files
from gymposium_train.run.lessons.imitation import ColdStartProgress, compute_cosine_rate, imitate_batches, mix_batches
from gymposium_train.run.lessons.lessons import (
    Lesson,
    Lessons,
    encode_prompt,
    exceeds_characters,
    list_moves,
    list_texts,
    tokenize_lessons,
)
from gymposium_train.run.lessons.random_play import RandomPlay, list_all_moves, list_paid_moves, list_winners_moves
from gymposium_train.run.lessons.taught_play import Student, TaughtCounts, TaughtPlay

__all__ = [
    "ColdStartProgress",
    "Lesson",
    "Lessons",
    "RandomPlay",
    "Student",
    "TaughtCounts",
    "TaughtPlay",
    "answer_lessons",
    "compute_cosine_rate",
    "encode_prompt",
    "exceeds_characters",
    "imitate_batches",
    "list_all_moves",
    "list_moves",
    "list_paid_moves",
    "list_texts",
    "list_winners_moves",
    "mix_batches",
    "read_chats",
    "read_files",
    "tokenize_lessons",
]
