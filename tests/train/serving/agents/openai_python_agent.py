"""An agent of openai for Python. Arguments: the session's address, and `stream` if replies are to be streamed."""

import json
import sys
from typing import Any

from openai import OpenAI

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Look up the number of a word.",
            "parameters": {
                "type": "object",
                "properties": {"word": {"type": "string"}},
                "required": ["word"],
                "additionalProperties": False,
            },
            "strict": True,  # the library's streams take no others
        },
    }
]


def look_up(word: str) -> int:
    return {"a": 1, "b": 2, "c": 3}[word]


def add(base_url: str, stream: bool) -> str | None:
    client = OpenAI(base_url=base_url, api_key="none", max_retries=40)
    messages: list[Any] = [{"role": "user", "content": "What do a, b and c add up to?"}]
    while True:
        if stream:
            with client.chat.completions.stream(model="policy", messages=messages, tools=TOOLS) as chunks:
                reply: Any = chunks.get_final_completion().choices[0].message
        else:
            reply = client.chat.completions.create(model="policy", messages=messages, tools=TOOLS).choices[0].message
        if not reply.tool_calls:
            return reply.content
        messages.append(reply)
        for call in reply.tool_calls:
            result = look_up(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


print(add(sys.argv[1], "stream" in sys.argv))
