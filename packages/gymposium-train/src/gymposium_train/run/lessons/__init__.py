"""Cold start: supervised fine-tuning before reinforcement learning, on random moves or on chat files."""

from gymposium_train.run.lessons.chats import read_chats
from gymposium_train.run.lessons.imitation import Ending, batches, cosine, imitate
from gymposium_train.run.lessons.lessons import Lesson, Lessons, moves_of, prompt_of, texts_of, tokenized
from gymposium_train.run.lessons.random_play import RandomPlay, all_moves, paid_moves, winners_moves

__all__ = [
    "Ending",
    "Lesson",
    "Lessons",
    "RandomPlay",
    "all_moves",
    "batches",
    "cosine",
    "imitate",
    "moves_of",
    "paid_moves",
    "prompt_of",
    "read_chats",
    "texts_of",
    "tokenized",
    "winners_moves",
]
