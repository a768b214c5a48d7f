"""Canary prompts, used to check after each update that the engine plays the learned policy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gymposium.errors import GymposiumError
from gymposium.games.pictures.pixels import draw_position
from gymposium.games.protocol import Game, Style
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import Reader
from gymposium.util.streams import stream
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.context import Exchange, Pictures, list_template_tools, parse_context
from gymposium_agents.modeling.forward import Tokens
from gymposium_agents.players.conversation import Conversation, Dialogue

PROMPTS = 8
"""Number of canary prompts per run, divided among its games. Each game gets at least 2."""
DECISIONS = 2
"""Number of decisions, from the start of each random match, whose prompts are used."""
TEXTS = ("Hello!", "What is 17 + 25?", "Name three cities.", "List the numbers from 1 to 5.")
"""Canary prompts for a run without games."""
MATCHES = 16
"""Maximum number of random matches that are searched for prompts."""


def sample_prompts(
    game: Game,
    style: Style,
    reader: Reader,
    chat: Chat,
    *,
    context: int,
    seed: int,
    pictures: Pictures = "none",
    number: int = PROMPTS,
) -> tuple[Tokens, ...]:
    """Return up to `number` distinct prompts, from the first decisions of random matches. There are fewer if random
    matches begin alike. The prompts share prefixes with rollout prompts, so an engine uses the same caches for them.
    Each leaves space for a reply within `context` tokens. Random numbers come from separate streams.

    Raises `GymposiumError` if no prompt leaves space for a reply, because training is then impossible."""
    prompts: dict[Tokens, None] = {}
    dialogue = Dialogue(chat, parse_context("state"))
    shortest: int | None = None
    for n in range(MATCHES):
        for exchange in _list_openings(game, style, reader, pictures, seed, n):
            prompt = dialogue.prompt(Conversation(), exchange, list_template_tools(reader, game))
            shortest = min(len(prompt), shortest or len(prompt))
            if len(prompt) < context:
                prompts[prompt] = None
            if len(prompts) == number:
                return tuple(prompts)
    if not prompts:
        raise GymposiumError(
            f"The model's context of {context} tokens is too short for a prompt of {game.name}: the shortest in "
            f'{MATCHES} random matches has {shortest}. Set prompting.prompt = "compact", or use a model with a longer '
            f"context."
        )
    return tuple(prompts)


def _list_openings(
    game: Game, style: Style, reader: Reader, pictures: Pictures, seed: int, n: int
) -> Iterator[Exchange]:
    """Yield what is read at the first decisions in a random match. If replies are free text, yields only the first."""
    rng = stream(seed, "canary", n)
    match, prompt = game.new(rng.getrandbits(48)), get_prompt(game, style, reader)
    for _ in range(DECISIONS):
        seats = match.to_move()
        for seat in seats:
            yield Exchange.showing(
                match.observe(seat, style), prompt, pictures=pictures, draw=partial(draw_position, match, seat)
            )
        legal = {seat: match.legal_moves(seat) for seat in seats}
        if not seats or None in legal.values():
            return
        match.apply({seat: rng.choice(moves) for seat, moves in legal.items() if moves})
