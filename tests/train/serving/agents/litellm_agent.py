"""An agent of LiteLLM. Arguments: the session's address, the protocol, and `stream` if replies are to be
streamed."""

import json
import sys
from typing import Any

import litellm

MODELS = {"chat": "openai/policy", "messages": "anthropic/policy", "responses": "openai/responses/policy"}
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Look up the number of a word.",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        },
    }
]


def look_up(word: str) -> int:
    return {"a": 1, "b": 2, "c": 3}[word]


def add(base_url: str, protocol: str, stream: bool) -> str | None:
    address = base_url.removesuffix("/v1") if protocol == "messages" else base_url
    messages: list[Any] = [{"role": "user", "content": "What do a, b and c add up to?"}]
    while True:
        answer: Any = litellm.completion(
            MODELS[protocol], api_base=address, api_key="none", messages=messages, tools=TOOLS, stream=stream
        )
        if stream:
            answer = litellm.stream_chunk_builder(list(answer), messages=messages)
        reply = answer.choices[0].message
        if not reply.tool_calls:
            return reply.content
        messages.append(reply)
        for call in reply.tool_calls:
            result = look_up(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


print(add(*sys.argv[1:3], "stream" in sys.argv))
