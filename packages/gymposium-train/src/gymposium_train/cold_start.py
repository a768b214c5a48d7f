"""Cold start: games of uniform random players, the winners' moves kept, as pairs to imitate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from gymposium.driver import MatchJob, Played, play
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer
from gymposium.prompt import prompt_for
from gymposium.reading import Reader
from gymposium.records import recorded
from gymposium.streams import stream
from gymposium_agents.chat import Chat
from gymposium_agents.forward import Tokens
from gymposium_train.config import ColdStart
from gymposium_train.learner import Learner

Pair = tuple[Tokens, Tokens]

BEST_SHARE = 0.25
"""In a game that is played alone, moves of this share of the matches are kept: those with the best score."""


class RandomAuthor:
    """A uniform random player that notes, with each move, the prompt that a language model would have read."""

    name = RandomPlayer.name

    def __init__(self, style: Style, reader: Reader) -> None:
        self._random = RandomPlayer()
        self.reader = self._random.reader
        self.style: Style = style
        self._model_reader = reader

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies = self._random.act(asks)
        for ask, reply in zip(asks, replies, strict=True):
            prompt = prompt_for(ask.game, self.style, self._model_reader)
            reply.trace = (prompt(ask.observe(self.style)), self._model_reader.answer(reply.text))
        return replies


def random_games(
    game: Game, style: Style, reader: Reader, *, matches: int, seed: int, tag: str, each: Callable[[Played], object]
) -> list[Played]:
    """Finished matches of random authors, each also handed to `each`."""
    author = RandomAuthor(style, reader)
    jobs = (
        MatchJob(f"{tag}-{n}", game, [author] * game.seats, stream(seed, tag, n).getrandbits(48))
        for n in range(matches)
    )
    return list(recorded(play(jobs), each))


def winners_moves(finished: Sequence[Played]) -> list[tuple[str, str]]:
    """(prompt text, reply text) of every move by a seat that won.

    Raises `GymposiumError` where nobody won a single match."""
    if finished and finished[0].job.game.seats == 1:
        kept = sorted(finished, key=lambda p: -p.returns[0])[: math.ceil(len(finished) * BEST_SHARE)]
        pairs = [turn.trace for played in kept for turn in played.turns]
    else:
        pairs = [turn.trace for played in finished for turn in played.turns if played.result(turn.seat) == "win"]
    if not pairs:
        raise GymposiumError(
            f"Nobody won any of {len(finished)} random matches, so there is nothing to imitate. Play more of them "
            f"(--cold-start-games), or start from a model that knows how to answer (--model … --cold-start-steps 0)."
        )
    return pairs


def tokenized(pairs: Sequence[tuple[str, str]], chat: Chat) -> list[Pair]:
    """Pairs of texts as pairs of token ids, each distinct text tokenized once."""
    replies = {reply: chat.reply(reply) for reply in {reply for _, reply in pairs}}
    return [(chat.prompt(prompt), replies[reply]) for prompt, reply in pairs]


def cosine(progress: float, settings: ColdStart) -> float:
    """The learning rate at `progress` from 0 to 1: a linear rise, then a cosine to zero."""
    if progress < settings.warmup:
        return settings.learning_rate * progress / settings.warmup
    rest = (progress - settings.warmup) / (1.0 - settings.warmup)
    return settings.learning_rate * 0.5 * (1.0 + math.cos(math.pi * min(rest, 1.0)))


def batches(pairs: Sequence[Pair], size: int, seed: int) -> Iterator[list[Pair]]:
    """Endless batches drawn from `pairs`."""
    for step in itertools.count():
        yield stream(seed, "sft", step).choices(pairs, k=size)


def imitate(
    learner: Learner, batches: Iterator[list[Pair]], settings: ColdStart, *, progress: Callable[[int], float]
) -> Iterator[dict[str, float]]:
    """SFT steps until `progress(step)` reaches 1. Yields each step's metrics."""
    step = 0
    while (done := progress(step)) < 1.0:
        rate = cosine(done, settings)
        metrics = learner.imitate(next(batches), rate)
        step += 1
        yield {"step": step, "learning_rate": rate, **metrics}
