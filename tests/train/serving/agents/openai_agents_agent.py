"""An agent of openai-agents. Arguments: the session's address, the protocol, and `stream` if replies are to be
streamed."""

import asyncio
import sys

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

MODELS = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}
set_tracing_disabled(True)  # traces would be sent to OpenAI


@function_tool
def look_up(word: str) -> int:
    """Look up the number of a word."""
    return {"a": 1, "b": 2, "c": 3}[word]


def adder(base_url: str, protocol: str) -> Agent:
    model = MODELS[protocol]("policy", AsyncOpenAI(base_url=base_url, api_key="none"))
    return Agent(name="Adder", instructions="Look up each word.", model=model, tools=[look_up])


async def main(base_url: str, protocol: str, stream: bool) -> None:
    question = "What do a, b and c add up to?"
    if stream:
        result = Runner.run_streamed(adder(base_url, protocol), question)
        async for _ in result.stream_events():
            pass
        print(result.final_output)
    else:
        print((await Runner.run(adder(base_url, protocol), question)).final_output)


asyncio.run(main(*sys.argv[1:3], "stream" in sys.argv))
