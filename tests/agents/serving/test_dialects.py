"""The dialects of requests: which fields they have, and how they translate conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

import pytest
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import ResponseTextConfigParam, response_create_params as responses_params
from openai.types.shared_params import Reasoning

from gymposium_agents.serving import messages, requests, responses
from gymposium_agents.serving.dialects import CHAT, Dialect
from gymposium_agents.serving.messages import MESSAGES
from gymposium_agents.serving.requests import BadRequest, Parameter
from gymposium_agents.serving.responses import RESPONSES

HI: Any = {"role": "user", "content": "hi"}
BODIES: list[tuple[Dialect, dict[str, Any]]] = [
    (CHAT, {"messages": [HI]}),
    (MESSAGES, {"messages": [HI]}),
    (RESPONSES, {"input": "hi"}),
]
FUNCTION: Any = {"name": "f", "description": "Find.", "parameters": {"type": "object", "properties": {}}}
TOOL: Any = {"name": "f", "description": "Find.", "input_schema": FUNCTION["parameters"]}


def list_fields(*forms: Any, prefix: str = "") -> set[str]:
    return {f"{prefix}{name}" for form in forms for name in get_type_hints(form)}


def test_every_field_of_the_protocols_has_a_policy() -> None:
    params = pytest.importorskip("anthropic.types.message_create_params")
    config = pytest.importorskip("anthropic.types.output_config_param").OutputConfigParam
    fields: list[tuple[Mapping[str, Parameter], set[str], set[str]]] = [
        (requests.PARAMETERS, list_fields(chat_params.CompletionCreateParamsStreaming), set()),
        (
            messages.PARAMETERS,
            list_fields(params.MessageCreateParamsStreaming) | list_fields(config, prefix="output_config."),
            {"output_config"},
        ),
        (
            responses.PARAMETERS,
            list_fields(responses_params.ResponseCreateParamsStreaming)
            | list_fields(ResponseTextConfigParam, prefix="text.")
            | list_fields(Reasoning, prefix="reasoning."),
            {"reasoning", "text"},
        ),
    ]
    for parameters, names, objects in fields:
        assert len(names) > 15
        assert names - objects - parameters.keys() == set()


@pytest.mark.parametrize(
    ("fields", "overridden"),
    [
        ({"stop_sequences": ["h"], "max_output_tokens": 3}, [["stop_sequences", "max_output_tokens"], None, None]),
        ({"stop": "h", "max_completion_tokens": 3}, [None, ["stop", "max_completion_tokens"], None]),
        ({"max_tokens": 3, "logprobs": True}, [None, ["logprobs"], ["max_tokens", "logprobs"]]),
        ({"response_format": {"type": "json_object"}}, [["response_format"]] * 3),
        ({"reasoning_effort": "low", "verbosity": "low"}, [["reasoning_effort", "verbosity"]] * 3),
        ({"reasoning": {"effort": "low", "summary": "auto"}}, [None, None, ["reasoning.effort", "reasoning.summary"]]),
        ({"text": {"x": 1, "verbosity": None}, "truncation": "auto"}, [None, None, ["truncation", "text.x"]]),
        ({"output_config": {"effort": "low", "x": 1}}, [None, ["output_config.effort", "output_config.x"], None]),
        ({"context_management": {"edits": [{"type": "x"}]}}, [["context_management"]] * 3),
        ({"prompt_cache_options": {"mode": "explicit"}}, [[], ["prompt_cache_options"], []]),
    ],
)
def test_fields_of_other_protocols_and_objects_are_reported(fields: Any, overridden: list[list[str] | None]) -> None:
    for (dialect, body), names in zip(BODIES, overridden, strict=True):
        if names is not None:
            request = dialect.read({**body, **fields})
            assert [*request.overridden] == names
    assert CHAT.read({**BODIES[0][1], "stop_sequences": ["h"]}).stop == ()
    assert MESSAGES.read({**BODIES[1][1], "stop": "h", "max_completion_tokens": 3}) == MESSAGES.read(
        {**BODIES[1][1], "stop": "x", "max_completion_tokens": 4}
    )
    assert RESPONSES.read({**BODIES[2][1], "max_tokens": 3}).max_tokens is None


@pytest.mark.parametrize(
    ("number", "fields", "strict"),
    [
        (1, {"thinking": {"type": "adaptive"}}, True),
        (1, {"output_config": {"effort": "low"}}, True),
        (1, {"output_config": {"x": 1}}, True),
        (1, {"context_management": {"edits": [{"type": "x"}]}}, False),
        (1, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, False),
        (2, {"reasoning": {"effort": "low"}}, True),
        (2, {"reasoning": {"summary": "auto"}}, False),
        (2, {"text": {"format": {"type": "json_object"}}}, False),
        (2, {"text": {"verbosity": "low"}}, True),
    ],
)
def test_strict_servers_refuse_nested_fields_that_change_replies(number: int, fields: Any, strict: bool) -> None:
    dialect, body = BODIES[number]
    assert dialect.read({**body, **fields}).overridden
    if strict:
        with pytest.raises(BadRequest, match="which this strict server refuses"):
            dialect.read({**body, **fields}, strict=True)
    else:
        assert dialect.read({**body, **fields}, strict=True).overridden


def test_all_dialects_read_the_same_conversation() -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    chat = CHAT.read(
        {
            "messages": [
                {"role": "developer", "content": "Be brief. "},
                {"role": "user", "content": []},
                {
                    "role": "assistant",
                    "content": "Well.",
                    "reasoning_content": "hm",
                    "tool_calls": [{**call, "id": "c1"}, {**call, "id": "c2"}],
                },
                {"role": "tool", "tool_call_id": "c2", "content": "failed"},
                {"role": "tool", "tool_call_id": "c1", "content": "3"},
                {"role": "user", "content": "And"},
            ],
            "tools": [{"type": "function", "function": FUNCTION}],
            "max_completion_tokens": 7,
        }
    )
    ephemeral = {"cache_control": {"type": "ephemeral"}}
    use = {"type": "tool_use", "name": "f", "input": {"a": 1}, **ephemeral}
    in_messages = MESSAGES.read(
        {
            "system": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief. ", **ephemeral}],
            "messages": [
                {"role": "user", "content": []},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "s"},
                        {"type": "redacted_thinking", "data": ""},
                        {"type": "text", "text": "Well."},
                        {**use, "id": "c1"},
                        {**use, "id": "c2"},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c2", "content": "failed", "is_error": True},
                        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "3"}]},
                        {"type": "text", "text": "An", **ephemeral},
                        {"type": "text", "text": "d"},
                    ],
                },
            ],
            "tools": [{**TOOL, **ephemeral}],
            "max_tokens": 7,
            "cache_control": {"type": "ephemeral"},
        }
    )
    made = {"type": "function_call", "name": "f", "arguments": '{"a":1}', "id": "fc", "status": "completed"}
    in_responses = RESPONSES.read(
        {
            "instructions": "Be brief. ",
            "input": [
                {"type": None, "role": "user", "content": []},
                {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": None},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Well."}]},
                {**made, "call_id": "c1"},
                {**made, "call_id": "c2"},
                {"type": "function_call_output", "call_id": "c2", "output": "failed"},
                {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "3"}]},
                {"role": "user", "content": "And"},
            ],
            "tools": [{"type": "function", **FUNCTION, "strict": None}],
            "max_output_tokens": 7,
        }
    )
    for request in (in_messages, in_responses):
        assert (request.messages, request.tools, request.max_tokens) == (chat.messages, chat.tools, 7)
        assert request.overridden == ()
