"""How a run checks, after each update, that the engine plays what was learned: by which prompts, and how nearly."""

from __future__ import annotations

from collections.abc import Iterator

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game, Style
from gymposium.prompt import prompt_for
from gymposium.reading import Reader
from gymposium.streams import stream
from gymposium_agents.chat import Chat
from gymposium_agents.forward import Tokens

PROMPTS = 8
"""Prompts of a run, shared out over its games; each game has at least 2."""
DECISIONS = 2
"""So many decisions of a random match are looked at."""
MATCHES = 16
"""So many random matches are looked through for prompts."""


def opening_prompts(
    game: Game, style: Style, reader: Reader, chat: Chat, *, context: int, seed: int, number: int = PROMPTS
) -> tuple[Tokens, ...]:
    """What is asked in the first decisions of random matches: prompts as those of the rollouts, which begin alike, so
    that an engine answers them out of the same caches. There are `number` of them, or fewer where random matches begin
    alike; they leave room for a reply in `context` tokens, and draw from streams of their own.

    Raises `GymposiumError` where no prompt leaves room: then there is nothing to train on either."""
    found: dict[Tokens, None] = {}
    shortest: int | None = None
    for n in range(MATCHES):
        for text in _texts(game, style, reader, seed, n):
            prompt = chat.prompt(text)
            shortest = min(len(prompt), shortest or len(prompt))
            if len(prompt) < context:
                found[prompt] = None
            if len(found) == number:
                return tuple(found)
    if not found:
        raise GymposiumError(
            f"The model's context of {context} tokens has no room for a prompt of {game.name}: the shortest of "
            f'{MATCHES} random matches has {shortest}. Write asking.prompt = "compact", or take a model with a longer '
            f"context."
        )
    return tuple(found)


def _texts(game: Game, style: Style, reader: Reader, seed: int, n: int) -> Iterator[str]:
    """The prompts of the first decisions of a random match; of the first alone where replies are free text."""
    rng = stream(seed, "canary", n)
    match, prompt = game.new(rng.getrandbits(48)), prompt_for(game, style, reader)
    for _ in range(DECISIONS):
        seats = match.to_move()
        yield from (prompt(match.observe(seat, style)) for seat in seats)
        legal = {seat: match.legal_moves(seat) for seat in seats}
        if not seats or None in legal.values():
            return
        match.apply({seat: rng.choice(moves) for seat, moves in legal.items() if moves})
