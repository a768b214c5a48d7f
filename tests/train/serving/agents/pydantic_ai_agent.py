"""An agent of pydantic-ai. Arguments: the session's address, the protocol, and `stream` if replies are to be
streamed."""

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider


def look_up(word: str) -> int:
    """Look up the number of a word."""
    return {"a": 1, "b": 2, "c": 3}[word]


def adder(base_url: str, protocol: str) -> Agent:
    if protocol == "messages":
        address = base_url.removesuffix("/v1")
        model = AnthropicModel("policy", provider=AnthropicProvider(base_url=address, api_key="none"))
    else:
        kind = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}[protocol]
        model = kind("policy", provider=OpenAIProvider(base_url=base_url, api_key="none"))
    return Agent(model, instructions="Look up each word.", tools=[look_up])


async def main(base_url: str, protocol: str, stream: bool) -> None:
    question = "What do a, b and c add up to?"
    if stream:
        async with adder(base_url, protocol).run_stream(question) as result:
            print(await result.get_output())
    else:
        print((await adder(base_url, protocol).run(question)).output)


asyncio.run(main(*sys.argv[1:3], "stream" in sys.argv))
