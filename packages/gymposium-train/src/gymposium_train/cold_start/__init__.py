"""Cold start: supervised fine-tuning before reinforcement learning, on moves of random players or on files of
chats."""

from gymposium_train.cold_start.chats import read_chats
from gymposium_train.cold_start.imitation import batches, cosine, imitate
from gymposium_train.cold_start.lessons import Lesson, Lessons, Pair, texts_of, tokenized
from gymposium_train.cold_start.random_play import all_moves, paid_moves, random_games, winners_moves

__all__ = [
    "Lesson",
    "Lessons",
    "Pair",
    "all_moves",
    "batches",
    "cosine",
    "imitate",
    "paid_moves",
    "random_games",
    "read_chats",
    "texts_of",
    "tokenized",
    "winners_moves",
]
