"""Convert gymposium's prompts into Inspect's messages and tools, and a model's output into gymposium's replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from inspect_ai.model import ChatMessage, ChatMessageTool, ChatMessageUser, ModelOutput
from inspect_ai.tool import ToolCall, ToolCallError, ToolDef, ToolParams

from gymposium.errors import BadOption, GymposiumError
from gymposium.players.protocol import Ask, FinishReason, Reply, Usage
from gymposium.replies.prompt import Prompt
from gymposium.tasks.tools import Call, Tool
from gymposium.tasks.tools.reader import ToolsReader

_FINISHED: Final[Mapping[str, FinishReason]] = {"max_tokens": "length", "model_length": "context"}
"""Inspect's stop reasons that do not come from the model."""
_HARMLESS: Final = frozenset(
    ["title", "minItems", "maxItems", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]
)
"""Schema keywords that Inspect drops without harm: the world checks them and reports violations to the model."""


def make_messages(ask: Ask, prompt: Prompt, calls: Sequence[ToolCall], *, first: bool) -> list[ChatMessage]:
    """Return an ask as messages: the results of the model's last `calls`, or else a user message. The first message
    contains the rules."""
    observation = ask.observe(prompt.style)
    if not calls:
        return [ChatMessageUser(content=prompt(observation, ask.reason, rules=first))]
    if ask.reason is not None:
        error = ToolCallError("parsing", ask.reason)
        return [ChatMessageTool(content="", tool_call_id=c.id, function=c.function, error=error) for c in calls]
    return [
        ChatMessageTool(content=result.text, tool_call_id=call.id, function=call.function)
        for call, result in zip(calls, observation.results, strict=True)
    ]


def extract_reply(output: ModelOutput, prompt: Prompt) -> Reply:
    """Return the reply in a model's output. If the prompt's reader supports tool calls, they are written in its
    format."""
    calls, text = output.message.tool_calls, output.completion
    if calls and isinstance(prompt.reader, ToolsReader):
        text = _write_calls(calls, prompt.reader)
    usage = Usage(seconds=output.time or 0.0)
    if (used := output.usage) is not None:
        cached = (used.input_tokens_cache_read or 0) + (used.input_tokens_cache_write or 0)
        usage.prompt_tokens, usage.completion_tokens = used.input_tokens + cached, used.output_tokens
        usage.cost = used.total_cost
    return Reply(text, _FINISHED.get(output.stop_reason, "stop"), usage=usage)


def _write_calls(calls: Sequence[ToolCall], reader: ToolsReader) -> str:
    """Return tool calls as text. Invalid calls are written unchanged, which makes the reply unparsable."""
    if all(call.parse_error is None for call in calls):
        try:
            return reader.dialect.write([Call(call.function, call.arguments) for call in calls])
        except (TypeError, ValueError):  # NaN, or something that is not JSON
            pass
    return "\n".join(f"{call.function} {call.arguments}: {call.parse_error or 'not JSON'}" for call in calls)


def declare_tool(tool: Tool) -> ToolDef:
    """Return the tool as Inspect declares it to a model. Raises `BadOption` for a schema that Inspect cannot
    represent."""
    parameters = ToolParams.model_validate(tool.parameters)
    lost = sorted({*_find_lost_keys(tool.parameters, parameters.model_dump(exclude_none=True))} - _HARMLESS)
    if lost:
        raise BadOption(
            f"The tool {tool.name} describes its arguments with {', '.join(lost)}, which Inspect cannot declare to a "
            f"model. Let the model write its calls as text:  gymposium/match"
        )
    for name, parameter in parameters.properties.items():
        parameter.description = parameter.description or name  # Inspect refuses a parameter without one

    async def call(**arguments: Any) -> str:
        raise GymposiumError(f"{tool.name} is called by gymposium's solver: generate with tool_calls='none'.")

    return ToolDef(call, tool.name, tool.description, parameters)


def _find_lost_keys(schema: Any, kept: Any) -> Iterator[str]:
    """Yield the keys of a schema that are missing from its copy."""
    if isinstance(schema, Mapping) and isinstance(kept, Mapping):
        for key, value in schema.items():
            if key in kept:
                yield from _find_lost_keys(value, kept[key])
            elif value is not None:
                yield str(key)
    elif isinstance(schema, Sequence) and not isinstance(schema, str) and isinstance(kept, Sequence):
        for value, copy in zip(schema, kept, strict=False):
            yield from _find_lost_keys(value, copy)
