"""The prompts with which a run checks, after each update, that the engine plays what was learned."""

from __future__ import annotations

from gymposium.games.protocol import Game, Style
from gymposium.prompt import prompt_for
from gymposium.reading import Reader
from gymposium.streams import stream
from gymposium_agents.chat import Chat
from gymposium_agents.forward import Tokens

PROMPTS = 2


def opening_prompts(game: Game, style: Style, reader: Reader, chat: Chat, seed: int) -> tuple[Tokens, ...]:
    """What is asked in the first decisions of a random match: prompts as those of the rollouts, which begin alike, so
    that an engine answers them out of the same caches. They draw from a stream of their own."""
    rng = stream(seed, "canary")
    match, prompt = game.new(rng.getrandbits(48)), prompt_for(game, style, reader)
    found: list[Tokens] = []
    while seats := match.to_move():
        found += [chat.prompt(prompt(match.observe(seat, style))) for seat in seats]
        moves = {seat: match.legal_moves(seat) for seat in seats}
        if len(found) >= PROMPTS or None in moves.values():  # a free text cannot be drawn
            break
        match.apply({seat: rng.choice(legal) for seat, legal in moves.items() if legal})
    return tuple(found[:PROMPTS])
