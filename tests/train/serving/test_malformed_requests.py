"""Malformed requests in the dialects other than chat completions."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from gymposium.http.app import build_api
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.serving.completions import format_error
from gymposium_train.serving.model_app import ModelApi

JSON = {"Content-Type": "application/json"}
HI: Any = {"role": "user", "content": "hi"}
CALLED: Any = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}
TWO_CALLS: Any = {
    **CALLED,
    "content": [{**CALLED["content"][0], "id": name} for name in ("c1", "c2")],
}
RESULT: Any = {"type": "tool_result", "tool_use_id": "c1"}
TOOL: Any = {"name": "f", "input_schema": {"type": "object"}}
CALL: Any = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
FUNCTION: Any = {"type": "function", "name": "f", "parameters": {"type": "object"}}
PNG = "data:image/png;base64,aGk="
IMAGE: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def blocks(*content: Any, role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": [*content]}, HI]}


MESSAGES: list[tuple[Any, str]] = [
    ([], "The body must be a JSON object"),
    ({}, "messages: give a list"),
    ({"messages": "hi"}, "messages: give a list"),
    ({"messages": []}, "messages: the list is empty"),
    ({"messages": ["hi"]}, "messages[0]: give an object with a role"),
    ({"messages": [{"role": "tool", "content": "3"}]}, "messages[0]: give an object with a role"),
    ({"messages": [{"role": "user"}]}, "messages[0]: give an object with a role"),
    ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content: give text or a list"),
    (blocks("hi"), "messages[0].content[0]: give an object with a type"),
    (blocks({"text": "hi"}), "messages[0].content[0]: give an object with a type"),
    (blocks({"type": "text"}), "messages[0].content[0].text: give text"),
    (blocks({"type": "text", "text": "hi"}, IMAGE), "messages: The model of"),
    (
        blocks({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}),
        'messages[0].content[0].source: give {"type": "base64"',
    ),
    (
        blocks({"type": "image", "source": {**IMAGE["source"], "media_type": "image/svg+xml"}}),
        "messages[0].content[0]: give a PNG or JPEG file as a data URL",
    ),
    (blocks({"type": "image", "source": {**IMAGE["source"], "data": "?"}}), "messages[0].content[0]: the image is not"),
    (blocks({"type": "document", "source": {}}), "messages[0].content[0].type: 'document' is not supported"),
    (blocks({"type": "web_search_tool_result"}), "messages[0].content[0].type: 'web_search_tool_result'"),
    (blocks({"type": "tool_result", "content": "3"}), "messages[0].content[0].tool_use_id: None is not the id"),
    (
        {"messages": [HI, CALLED, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2"}]}]},
        "messages[2].content[0].tool_use_id: 'c2' is not the id of an unanswered call. Waiting: c1.",
    ),
    (
        {"messages": [HI, CALLED, {"role": "user", "content": [{**RESULT, "content": [IMAGE]}]}]},
        "messages[2].content[0].content[0].type: 'image' is not supported",
    ),
    ({"messages": [HI, CALLED, HI]}, "messages[2].content: the results of earlier calls must come first: c1"),
    ({"messages": [HI, CALLED]}, "messages: the results of these calls are missing: c1"),
    ({"messages": [HI, {"role": "assistant", "content": "hello"}]}, "messages: the last message is a reply"),
    (
        blocks(CALLED["content"][0], CALLED["content"][0], role="assistant"),
        "messages[0].content: two calls have the same id",
    ),
    (blocks({"type": "tool_use", "id": "c1", "name": "f"}, role="assistant"), "messages[0].content[0]: give {"),
    (blocks({"type": "thinking"}, role="assistant"), "messages[0].content[0].thinking: give text"),
    (blocks({"type": "server_tool_use"}, role="assistant"), "messages[0].content[0].type: 'server_tool_use'"),
    ({"messages": [HI], "system": 3}, "system: give text or a list"),
    ({"messages": [HI], "system": [IMAGE]}, "system[0].type: 'image' is not supported"),
    ({"messages": [HI], "max_tokens": 0}, "max_tokens: 0 is not a positive whole number"),
    ({"messages": [HI], "stop_sequences": [""]}, "stop_sequences: give text"),
    ({"messages": [HI], "stream": "yes"}, "stream: 'yes' is invalid"),
    ({"messages": [HI], "tools": {}}, "tools: give a list"),
    (
        {"messages": [HI], "tools": [{"type": "bash_20250124", "name": "bash"}]},
        "tools[0].type: 'bash_20250124'",
    ),
    ({"messages": [HI], "tools": [{"name": "f"}]}, "tools[0]: give {"),
    (
        {"messages": [HI], "tools": [{**TOOL, "input_schema": {"type": "object", "required": 3}}]},
        "tools[0].input_schema: the schema of f",
    ),
    ({"messages": [HI], "tools": [TOOL, TOOL]}, "tools: duplicate tool f"),
    ({"messages": [HI], "tool_choice": "auto"}, "tool_choice: give {"),
    ({"messages": [HI], "output_config": 3}, "output_config: give an object"),
    ({"messages": [HI], "output_config": {"format": "json"}}, "output_config.format: give {"),
    ({"messages": [HI], "n": 2}, "n: 2 is not supported"),
    ({"messages": [HI], "mcp_servers": [{"url": "x"}]}, "mcp_servers: [{'url': 'x'}] is not supported"),
    ({"messages": [HI], "tools": [{**TOOL, "description": 3}]}, "tools[0].description: give text"),
    ({"messages": [HI], "output_config": {"a\n": 1}}, "body: 'output_config.a\\n' is not the name of a field"),
    ({"messages": [HI], "a b": 1}, "body: 'a b' is not the name of a field"),
    (
        {"messages": [HI, TWO_CALLS, {"role": "user", "content": [RESULT, RESULT]}]},
        "messages[2].content[1].tool_use_id: 'c1' is not the id of an unanswered call. Waiting: c2.",
    ),
    (
        {"messages": [HI, CALLED, {"role": "user", "content": [{**RESULT, "content": False}]}]},
        "messages[2].content[0].content: give text or a list",
    ),
    ({"messages": [{"role": "user", "content": "\ud800"}]}, "messages: the text contains half of a surrogate pair"),
]


def items(*given: Any) -> dict[str, Any]:
    return {"input": [*given]}


RESPONSES: list[tuple[Any, str]] = [
    ([], "The body must be a JSON object"),
    ({}, "input: give text or a list"),
    ({"input": 3}, "input: give text or a list"),
    ({"input": []}, "input: the list is empty"),
    (items("hi"), "input[0]: give an object with a type"),
    (items({"type": 3}), "input[0]: give an object with a type"),
    (items({"content": "hi"}), "input[0].role: give user"),
    (items({"role": "tool", "content": "3"}), "input[0].role: give user"),
    (items({"role": "user"}), "input[0].content: give text or a list"),
    (items({"role": "user", "content": ["hi"]}), "input[0].content[0]: give an object with a type"),
    (items({"role": "user", "content": [{"type": "input_text"}]}), "input[0].content[0].text: give text"),
    (items(HI, {"role": "user", "content": [{"type": "input_image", "image_url": PNG}]}), "input: The model of"),
    (items(HI, {"role": "system", "content": [{"type": "input_image"}]}), "input[1].content[0].type: 'input_image'"),
    (
        items(HI, {"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}),
        "input[1].content[0]: give a PNG",
    ),
    (
        items({"role": "user", "content": [{"type": "input_image", "image_url": "file:///etc/passwd"}]}),
        "input[0].content[0]: give a PNG or JPEG file as a data URL (data:image/png;base64,…), not 'file:///etc/passwd'",
    ),
    (items({"role": "user", "content": [{"type": "input_file"}]}), "input[0].content[0].type: 'input_file'"),
    (items(HI, {"type": "function_call", "name": "f"}), "input[1]: give {"),
    (items(HI, {**CALL, "arguments": "{"}), "input[1].arguments: invalid JSON"),
    (items(HI, {**CALL, "arguments": "[]"}), "input[1].arguments: give a JSON object as text"),
    (items(HI, CALL), "input: the results of these calls are missing: c1"),
    (items(HI, CALL, HI), "input[2]: the results of earlier calls must come first: c1"),
    (items(HI, CALL, CALL, HI), "input[1]: two calls have the same id"),
    (
        items(HI, CALL, {"type": "function_call_output", "call_id": "c2", "output": "3"}),
        "input[2].call_id: 'c2' is not the id of an unanswered call. Waiting: c1.",
    ),
    (items(HI, CALL, {"type": "function_call_output", "call_id": "c1"}), "input[2].output: give text or a list"),
    (items(HI, {"role": "assistant", "content": "hello"}), "input: the last message is a reply"),
    (items({"type": "item_reference", "id": "rs-1"}), "input[0].type: items are not stored"),
    (items(HI, {"type": "computer_call"}), "input[1].type: 'computer_call' is not supported"),
    (
        {"input": "hi", "previous_response_id": "r1"},
        "previous_response_id: 'r1' is not supported. Responses are not stored. Send the",
    ),
    ({"input": "hi", "conversation": "c"}, "conversation: 'c' is not supported. Responses are not stored"),
    ({"input": "hi", "prompt": {"id": "p"}}, "prompt: {'id': 'p'} is not supported. Prompts are not stored"),
    (
        {"input": "hi", "messages": [HI]},
        "messages: [{'role': 'user', 'content': 'hi'}] is not supported. Send the conversation as",
    ),
    ({"input": "hi", "background": True}, "background: True is not supported. Responses are not stored"),
    ({"input": "hi", "instructions": [HI]}, "instructions: give text"),
    ({"input": "hi", "max_output_tokens": 0}, "max_output_tokens: 0 is not a positive whole number"),
    ({"input": "hi", "stream": 1}, "stream: 1 is invalid"),
    ({"input": "hi", "tools": FUNCTION}, "tools: give a list"),
    ({"input": "hi", "tools": [{"type": "web_search"}]}, "tools[0].type: 'web_search' is not supported"),
    ({"input": "hi", "tools": [{"type": "function"}]}, "tools[0]: give {"),
    ({"input": "hi", "tools": [{**FUNCTION, "parameters": 3}]}, "tools[0]: give {"),
    ({"input": "hi", "tools": [{**FUNCTION, "parameters": {"type": 3}}]}, "tools[0].parameters: the schema"),
    ({"input": "hi", "tools": [FUNCTION, FUNCTION]}, "tools: duplicate tool f"),
    ({"input": "hi", "tool_choice": "always"}, "tool_choice: 'always' is not supported"),
    ({"input": "hi", "text": {"format": {"type": "xml"}}}, "text.format: give the type"),
    ({"input": "hi", "text": "json"}, "text: give an object"),
    ({"input": "hi", "reasoning": "high"}, "reasoning: give an object"),
    ({"input": "hi", "include": "all"}, "include: give a list"),
    ({"input": "hi", "include": ["x", 3]}, "include[1]: give text"),
    ({"input": "hi", "metadata": "x"}, "metadata: give an object"),
    ({"input": "hi", "tools": [{**FUNCTION, "description": 3}]}, "tools[0].description: give text"),
    (
        items(
            HI, CALL, {**CALL, "call_id": "c2"}, *[{"type": "function_call_output", "call_id": "c1", "output": ""}] * 2
        ),
        "input[4].call_id: 'c1' is not the id of an unanswered call. Waiting: c2.",
    ),
    ({"input": "\ud800"}, "input: the text contains half of a surrogate pair"),
]


@pytest.mark.parametrize(
    ("path", "cases"),
    [("messages", MESSAGES), ("messages/count_tokens", MESSAGES), ("responses", RESPONSES)],
)
def test_errors_name_the_field_in_the_form_of_the_dialect(
    path: str, cases: list[tuple[Any, str]], player: LanguageModelPlayer
) -> None:
    async def send_all() -> list[httpx.Response]:
        app = build_api(ModelApi(player, "tiny", 0, strict=False).routes(), format_error=format_error)
        transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8750/v1/") as client:
            return [await client.post(path, content=json.dumps(body), headers=JSON) for body, _ in cases]

    for (body, said), response in zip(cases, asyncio.run(send_all()), strict=True):
        told = response.json()
        error = told["error"]
        assert response.status_code == 400, (body, told)
        assert error["message"].startswith(said), (body, told)
        assert error["type"] == "invalid_request_error"
        if path == "responses":
            assert told.keys() == {"error"}
            assert error["param"] is None or said.startswith(error["param"])
        else:
            assert (told["type"], error.keys()) == ("error", {"type", "message"})
