"""The reward written `ruler(MODEL?OPTIONS,rubric=TEXT)`."""

from __future__ import annotations

from gymposium.errors import BadOption
from gymposium_agents.chat.settings import parse_options
from gymposium_agents.judge.prompt import RUBRIC
from gymposium_agents.judge.ruler import MAX_TOKENS, Ruler
from gymposium_agents.players.api_player import read_options

_OF_A_PLAYER = ("context", "prompt", "reading", "reply")
"""Player options that a judge does not have."""


def make_ruler(model: str, options: str | None = None, rubric: str | None = None) -> Ruler:
    """Make the judge that uses this model of a chat service, with the service options of `api:MODEL`.

    Raises `BadOption` or `UnknownName` for invalid options, and `MissingExtra` without the openai library."""
    from gymposium_agents.engines.chat_api import OpenAIChatEngine

    values = {"max_tokens": str(MAX_TOKENS), **parse_options(options)}
    for name in _OF_A_PLAYER:
        if name in values:
            raise BadOption(f"reward: {name}= is an option of players, not of judges. Omit it.")
    service, settings = read_options(model.strip(), values)
    if settings.temperature != 0:
        raise BadOption(
            "reward: a judge must use temperature 0. Omit temperature, or use temperature=default to leave it to the "
            "service."
        )
    if rubric is not None and not rubric.strip():
        raise BadOption("reward: rubric= is empty. Describe how to compare trajectories, or omit it.")
    return Ruler(OpenAIChatEngine(service), rubric or RUBRIC, max_tokens=settings.max_tokens)
