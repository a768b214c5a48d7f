"""Completion requests: which fields are read, ignored, or refused with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from gymposium.tasks.tools import Call
from gymposium_agents.serving import requests
from gymposium_agents.serving.requests import BadRequest, CompletionRequest

ASK = {"role": "user", "content": "Look it up."}


def calls(*ids: str) -> dict[str, Any]:
    """A reply that calls a tool once for each id."""
    made = [
        {"id": one, "type": "function", "function": {"name": "look_up", "arguments": f'{{"word": "{one}"}}'}}
        for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(name: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": text}


def read(*messages: Any, **fields: Any) -> CompletionRequest:
    return CompletionRequest.read({"messages": [*messages], **fields})


def test_results_are_sorted_by_call_order() -> None:
    request = read(ASK, calls("a", "b"), result("b", "2"), result("a", "1"))
    assert [message["content"] for message in request.messages] == ["Look it up.", "", "1", "2"]
    assert request.messages[1]["tool_calls"] == (Call("look_up", {"word": "a"}), Call("look_up", {"word": "b"}))


def test_text_parts_join_and_developer_means_system() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    request = read({"role": "developer", "content": "Be brief."}, {"role": "user", "content": parts})
    assert request.messages == ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "one two"})


def test_neutral_values_and_labels_are_accepted() -> None:
    request = read(
        ASK,
        model="gpt-4o",
        n=1,
        top_p=1.0,
        presence_penalty=0,
        frequency_penalty=0.0,
        logit_bias=None,
        response_format={"type": "text"},
        tool_choice="auto",
        parallel_tool_calls=True,
        user="me",
        metadata={"task": "3"},
        store=False,
        top_k=-1,
        min_p=0,
        repetition_penalty=1,
        max_tokens=9,
        max_completion_tokens=7,
        stop="END",
        stream=True,
        stream_options={"include_usage": True},
    )
    assert (request.max_tokens, request.stop, request.stream, request.usage) == (7, ("END",), True, True)
    assert request.overridden == ()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"n": 2}, "n"),
        ({"best_of": 2}, "best_of"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"audio": {"voice": "alloy", "format": "wav"}}, "audio"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"function_call": {"name": "f"}}, "function_call"),
        ({"a\n": 1}, "body"),
        ({f"f{n}": 1 for n in range(33)}, "body"),
        ({"logit_bias": {"5": 1}}, "logit_bias"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"tools": [{"type": "function", "function": {"name": f"f{n}"}} for n in range(60_000)]}, "tools"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"stop": ["a", ""]}, "stop"),
        ({"stop": list("abcdefghijklmnopq")}, "stop"),
        ({"n": True}, "n"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": 1}, "stream_options"),
        ({"tools": [{"type": "web_search"}]}, r"tools\[0\]"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, r"tools\[0\].function"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}] * 2}, "tools"),
    ],
)
def test_invalid_or_unsupported_fields_are_named(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(BadRequest, match=rf"^{field}: "):
        read(ASK, **fields)


def make_tool_schema(name: str, **schema: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", **schema}}}


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"properties": {"a": {"type": "text"}}}, "'text' is not valid"),
        ({"properties": []}, r"\[\] is not of type 'object'"),
        ({"properties": {"a": 5}}, "5 is not of type 'object', 'boolean'"),
        ({"properties": {"a": {"minLength": -1}}}, "-1 is less than the minimum"),
        ({"properties": {"a": {"pattern": 5}}}, "5 is not of type 'string'"),
        ({"required": "a"}, "'a' is not of type 'array'"),
        ({"properties": {"a": {"$ref": "http://127.0.0.1/b"}}}, "refers to 'http://127.0.0.1/b'"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "use one of"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"enum": 5}}}, "5 is not of type 'array'"),
    ],
)
def test_invalid_tool_schemas_are_refused_by_name(schema: dict[str, Any], fault: str) -> None:
    why = rf"^tools\[1\].function.parameters: the schema of look_up is invalid: .*{fault}"
    with pytest.raises(BadRequest, match=why) as caught:
        read(ASK, tools=[make_tool_schema("fine"), make_tool_schema("look_up", **schema)])
    assert caught.value.status == 400


def test_total_schema_checking_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "TOOLS_SECONDS", 0.0)
    with pytest.raises(BadRequest, match=r"^tools: the schemas up to that of a take more than 0 s"):
        read(ASK, tools=[make_tool_schema("a")])


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"response_format": {"type": "json_object"}}, ("response_format",)),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}},
            ("response_format",),
        ),
        ({"tool_choice": "required"}, ("tool_choice",)),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, ("tool_choice",)),
        ({"tools": [{"type": "function", "function": {"name": "f", "strict": True}}]}, ("tools.strict",)),
        ({"temperature": 0.2, "seed": 3, "parallel_tool_calls": False}, ("temperature", "seed", "parallel_tool_calls")),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_fields_that_the_run_sets_are_overridden(fields: dict[str, Any], names: tuple[str, ...], strict: bool) -> None:
    assert CompletionRequest.read({"messages": [ASK], **fields}, strict=strict).overridden == names


@pytest.mark.parametrize(
    "fields",
    [
        {"top_p": 0.9},
        {"top_k": 5},
        {"min_p": 0.1},
        {"repetition_penalty": 1.1},
        {"frequency_penalty": 0.5},
        {"presence_penalty": -0.5},
        {"top_logprobs": 3},
        {"reasoning_effort": "low"},
        {"verbosity": "low"},
        {"prediction": {"type": "content", "content": "x"}},
        {"web_search_options": {}},
        {"chat_template_kwargs": {"enable_thinking": False}},
    ],
)
def test_other_sampling_is_overridden_or_strictly_refused(fields: dict[str, Any]) -> None:
    assert read(ASK, **fields).overridden == tuple(fields)
    with pytest.raises(BadRequest, match=r"this strict server refuses\.") as refused:
        CompletionRequest.read({"messages": [ASK], **fields}, strict=True)
    assert refused.value.param == next(iter(fields))


def test_tool_choice_none_hides_the_tools() -> None:
    request = read(ASK, tools=[make_tool_schema("f")], tool_choice="none")
    assert (request.tools, request.overridden) == ((), ())


def test_errors_carry_the_field_name() -> None:
    with pytest.raises(BadRequest) as caught:
        read(ASK, n=2)
    assert caught.value.param == "n"


def test_too_many_messages_are_refused() -> None:
    with pytest.raises(BadRequest, match=r"messages: .* are too many"):
        read(*[ASK] * 100_000)


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([], "messages"),
        ([{"role": "critic", "content": "x"}], r"messages\[0\]"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], r"messages\[0\].content"),
        ([ASK, {"role": "assistant", "content": "b2"}], "messages"),
        ([ASK, result("a", "1")], r"messages\[1\].tool_call_id"),
        ([ASK, calls("a")], "messages"),
        ([ASK, calls("a"), ASK], r"messages\[2\]"),
        ([ASK, calls("a", "a"), result("a", "1")], r"messages\[1\].tool_calls"),
        ([ASK, {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}]}], r"messages\[1\].tool"),
        (
            [ASK, {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]}],
            r"messages\[1\].tool_calls\[0\].function.arguments",
        ),
        (
            [ASK, {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "[]"}}]}],
            r"messages\[1\].tool_calls\[0\].function.arguments: give a JSON object",
        ),
    ],
)
def test_invalid_conversations_are_refused(messages: list[Any], field: str) -> None:
    with pytest.raises(BadRequest, match=rf"^{field}"):
        read(*messages)


@pytest.mark.parametrize("body", [None, [], "x", {}])
def test_refuses_bodies_without_messages(body: Any) -> None:
    with pytest.raises(BadRequest):
        CompletionRequest.read(body)


WHOLE: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look it up."}]},
        calls("a", "b"),
        result("a", "1"),
        result("b", "2"),
    ],
    "tools": [
        {
            "type": "function",
            "function": {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object"}},
        }
    ],
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
    "tool_choice": {"type": "function", "function": {"name": "look_up"}},
    "stream_options": {"include_usage": True},
    "stop": ["END"], "max_tokens": 9, "max_completion_tokens": 9, "logprobs": True, "stream": True, "seed": 3,
    "n": 1, "top_p": 1, "top_k": -1, "min_p": 0, "logit_bias": {}, "modalities": ["text"], "top_logprobs": 0,
}  # fmt: skip
OTHERS: tuple[Any, ...] = (None, 5, "x", [], {}, ["a"], True, [{"a": []}], "\ud800", 10**4000)


def replace_each_part(value: Any, other: Any) -> Iterator[Any]:
    """Copies of a value, each with one part replaced."""
    yield other
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        for new in replace_each_part(part, other):
            copy = value.copy()
            copy[key] = new
            yield copy


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: ascii(other)[:12])
def test_values_of_other_types_never_crash(other: Any) -> None:
    assert CompletionRequest.read(WHOLE)
    for body in replace_each_part(WHOLE, other):
        with suppress(BadRequest):
            assert CompletionRequest.read(body).messages


@pytest.mark.parametrize("role", [["a"], {}, None, 5, "critic"])
def test_invalid_roles_are_refused(role: Any) -> None:
    with pytest.raises(BadRequest, match="give an object with a role") as refused:
        read({"role": role, "content": "x"})
    assert (refused.value.status, refused.value.param) == (400, "messages[0]")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "messages"),
        ({"messages": [ASK], "stop": ["\udfff"]}, "stop"),
        (
            {"messages": [ASK], "tools": [{"type": "function", "function": {"name": "f", "description": "\ud800"}}]},
            "tools",
        ),
        ({"messages": [ASK, calls("\\ud800"), result("\\ud800", "1")]}, "messages[1].tool_calls[0].function.arguments"),
    ],
)
def test_lone_surrogates_are_refused(body: dict[str, Any], field: str) -> None:
    with pytest.raises(BadRequest, match="surrogate") as refused:
        CompletionRequest.read(body)
    assert refused.value.param == field


def test_deeply_nested_arguments_are_refused() -> None:
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "f", "arguments": '{"a": ' + "[" * 900 + "]" * 900 + "}"},
    }
    with pytest.raises(BadRequest, match="too deeply"):
        read(ASK, {"role": "assistant", "tool_calls": [call]}, result("a", "1"))


def test_too_many_calls_are_refused() -> None:
    made = [{"id": f"{n}", "type": "function", "function": {"name": "f", "arguments": ""}} for n in range(4097)]
    with pytest.raises(BadRequest, match="4097 are too many") as refused:
        read(ASK, {"role": "assistant", "tool_calls": made}, result("0", "1"))
    assert refused.value.param == "messages[1].tool_calls"
