"""The reward written `ruler(MODEL?OPTIONS,rubric=TEXT)`."""

from __future__ import annotations

from gymposium.errors import BadOption
from gymposium_agents.chat.settings import parse_options
from gymposium_agents.judge.prompt import RUBRIC
from gymposium_agents.judge.ruler import MAX_TOKENS, Ruler
from gymposium_agents.players.api_player import read_options

_OF_A_PLAYER = ("context", "prompt", "reading", "reply")
"""Options of the player that a judge does not have."""


def ruler_reward(model: str, options: str | None = None, rubric: str | None = None) -> Ruler:
    """The judge that is this model of a chat service, with the same options of the service as in `api:MODEL`.

    Raises `BadOption` or `UnknownName` for options that cannot be read, `MissingExtra` without the openai library."""
    from gymposium_agents.engines.chat_api import OpenAIChatEngine

    values = {"max_tokens": str(MAX_TOKENS), **parse_options(options)}
    for name in _OF_A_PLAYER:
        if name in values:
            raise BadOption(f"reward: {name}= says how a player is asked; a judge is asked in one way. Leave it out.")
    service, settings = read_options(model.strip(), values)
    if settings.temperature != 0:
        raise BadOption("reward: a judge answers with temperature 0; temperature=default leaves it to the service.")
    if rubric is not None and not rubric.strip():
        raise BadOption("reward: rubric= is empty: say how trajectories are to be compared, or leave it out.")
    return Ruler(OpenAIChatEngine(service), rubric or RUBRIC, max_tokens=settings.max_tokens)
