"""An agent of smolagents that calls tools as the API does. Arguments: the session's address, and `stream` if replies
are to be streamed."""

import sys
from typing import Any

from smolagents import OpenAIModel, ToolCallingAgent, tool


@tool
def look_up(word: str) -> int:
    """Look up the number of a word.

    Args:
        word: The word.
    """
    return {"a": 1, "b": 2, "c": 3}[word]


def adder(base_url: str, **options: Any) -> ToolCallingAgent:
    model = OpenAIModel("policy", api_base=base_url, api_key="none")
    return ToolCallingAgent([look_up], model, **options)


def main(base_url: str, stream: bool) -> None:
    print(adder(base_url, stream_outputs=stream, max_steps=5).run("What do a, b and c add up to?"))


main(sys.argv[1], "stream" in sys.argv)
