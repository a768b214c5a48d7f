"""The model that every run begins with: random weights from the seed, and a tokenizer that is the same for all.

The tokenizer is trained on prompts and moves of random matches of all games, as many of each, so that no row has one of
its own. Nothing of it depends on a run's seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.reading import reader
from gymposium_agents.small_size import SmallModel
from gymposium_train.directory import is_whole, written_whole

if TYPE_CHECKING:  # brings torch
    from gymposium_train.cold_start import Lesson

GAMES = ("tic_tac_toe", "kuhn_poker", "connect_four", "2048")
SIZE = SmallModel()
DECISIONS = 2_500
"""Prompts with their moves, of each game, that the tokenizer is trained on."""
MATCHES = 10
"""Played at once; there are as many lots as it takes."""


def base(runs: Path, seed: int) -> Path:
    """Where the model of a seed stands. Its name says what it was made of, too: another size is another model."""
    made_of = hashlib.sha256(repr((GAMES, SIZE, DECISIONS, MATCHES)).encode()).hexdigest()[:8]
    return runs / f"base-{made_of}-{seed}"


def make_base(directory: Path, seed: int) -> None:
    """Make it, where it does not stand already."""
    if is_whole(directory):
        return
    from gymposium_agents.small import make_small_model  # brings torch
    from gymposium_train.cold_start import moves_of, texts_of

    directory.parent.mkdir(parents=True, exist_ok=True)
    read = [*lessons()]
    with written_whole(directory) as staging:
        make_small_model(staging, texts_of(read), seed=seed, size=SIZE, moves=moves_of(read))


def lessons() -> Iterator[Lesson]:
    """What the tokenizer is trained on: compact prompts with their moves, in the order of the games."""
    for name in GAMES:
        yield from _lessons_of(load_game(name))


def tokenizer_hash(directory: Path) -> str:
    """To show that two models have the same tokenizer."""
    return hashlib.sha256((directory / "tokenizer.json").read_bytes()).hexdigest()


def _lessons_of(game: Game) -> list[Lesson]:
    from gymposium_train.cold_start import RandomPlay

    found: list[Lesson] = []
    lot = 0
    while len(found) < DECISIONS:
        tag = f"tokenizer-{game.name}-{lot}"
        played = RandomPlay(game, "compact", reader("move"), seed=0, tag=tag).play(MATCHES)
        found += [turn.trace for one in played for turn in one.turns]
        lot += 1
    return found[:DECISIONS]
