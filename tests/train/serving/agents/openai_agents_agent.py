"""An agent of openai-agents. Arguments: the session's address, and `stream` if replies are to be streamed."""

import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)  # traces would be sent to OpenAI


@function_tool
def look_up(word: str) -> int:
    """Look up the number of a word."""
    return {"a": 1, "b": 2, "c": 3}[word]


def adder(base_url: str) -> Agent:
    model = OpenAIChatCompletionsModel("policy", AsyncOpenAI(base_url=base_url, api_key="none"))
    return Agent(name="Adder", instructions="Look up each word.", model=model, tools=[look_up])


async def main(base_url: str, stream: bool) -> None:
    question = "What do a, b and c add up to?"
    if stream:
        result = Runner.run_streamed(adder(base_url), question)
        async for _ in result.stream_events():
            pass
        print(result.final_output)
    else:
        print((await Runner.run(adder(base_url), question)).final_output)


asyncio.run(main(sys.argv[1], "stream" in sys.argv))
