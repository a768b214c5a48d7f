"""An agent of pydantic-ai whose answer is an object. Arguments: the session's address, and `stream` if replies are to
be streamed."""

import asyncio
import sys

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class Sum(BaseModel):
    total: int


def look_up(word: str) -> int:
    """Look up the number of a word."""
    return {"a": 1, "b": 2, "c": 3}[word]


def adder(base_url: str) -> Agent[None, Sum]:
    model = OpenAIChatModel("policy", provider=OpenAIProvider(base_url=base_url, api_key="none"))
    return Agent(model, instructions="Look up each word.", tools=[look_up], output_type=Sum)


async def main(base_url: str, stream: bool) -> None:
    question = "What do a, b and c add up to?"
    if stream:
        async with adder(base_url).run_stream(question) as result:
            print(await result.get_output())
    else:
        print((await adder(base_url).run(question)).output)


asyncio.run(main(sys.argv[1], "stream" in sys.argv))
