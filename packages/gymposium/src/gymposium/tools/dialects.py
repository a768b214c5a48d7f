"""Dialects: the ways in which language models write calls of tools in their replies.

Reading is strict: a reply is thoughts, which may be left out, and one or more calls, with nothing but white space
between them. A repeated key, `NaN` and any other text make a reply unreadable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from gymposium.errors import UnknownName
from gymposium.strict_json import each_key_once, strict_json
from gymposium.tools.calls import Call
from gymposium.tools.merging import types_of
from gymposium.tools.tool import Tool

_DEEPEST = 8
"""Number of references and choices that are followed to find the type of an argument."""


class Dialect(Protocol):
    """A wording of calls."""

    name: str
    example: str
    """The form of a call, for the instructions of a prompt."""
    opening: str
    """The text with which each call begins; empty if a call may begin with other text."""

    def read(self, text: str, tools: Mapping[str, Tool]) -> tuple[Call, ...]:
        """The calls that make up `text`. Raises `ValueError` for text of another form."""
        ...

    def write(self, calls: Sequence[Call]) -> str:
        """The text of these calls."""
        ...


class Hermes:
    """Calls as JSON between tags, as Qwen 2.5, Qwen 3 and Hermes write them."""

    name = "hermes"
    opening = "<tool_call>"
    example = '<tool_call>\n{"name": "...", "arguments": {...}}\n</tool_call>'

    def read(self, text: str, tools: Mapping[str, Tool]) -> tuple[Call, ...]:
        return tuple(
            Call.parse(strict_json(inside, any_integer=True))
            for inside in _between(text, "<tool_call>", "</tool_call>")
        )

    def write(self, calls: Sequence[Call]) -> str:
        return "\n".join(f"<tool_call>\n{call.json}\n</tool_call>" for call in calls)


class Llama:
    """One call as a JSON object with `parameters`, as Llama 3 writes it."""

    name = "llama"
    opening = ""
    example = '{"name": "...", "parameters": {...}}'

    def read(self, text: str, tools: Mapping[str, Tool]) -> tuple[Call, ...]:
        return (Call.parse(strict_json(text, any_integer=True), "parameters"),)

    def write(self, calls: Sequence[Call]) -> str:
        if len(calls) != 1:
            raise ValueError("the dialect llama writes one call in a reply")
        written = json.loads(calls[0].json)
        return json.dumps({"name": written["name"], "parameters": written["arguments"]}, ensure_ascii=False)


class _Typed:
    """Base of the dialects that write a text argument as it is, and any other as JSON. The tool's schema says which."""

    def _value(self, tool: Tool | None, name: str, text: str) -> Any:
        return text if _is_text(tool, name) else strict_json(text, any_integer=True)

    def _text(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)


class Keys(_Typed):
    """Calls with a tag for each key and each value, as GLM 4.5 and later write them."""

    name = "keys"
    opening = "<tool_call>"
    example = "<tool_call>name\n<arg_key>...</arg_key>\n<arg_value>...</arg_value>\n</tool_call>"

    _PAIR = re.compile(r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>\s*", re.DOTALL)

    def read(self, text: str, tools: Mapping[str, Tool]) -> tuple[Call, ...]:
        calls = []
        for inside in _between(text, "<tool_call>", "</tool_call>"):
            name, tag, rest = inside.partition("<arg_key>")
            tool = tools.get(name := name.strip())
            found = _pairs(self._PAIR, tag + rest)
            calls.append(Call(name, each_key_once((key, self._value(tool, key, value)) for key, value in found)))
        return tuple(calls)

    def write(self, calls: Sequence[Call]) -> str:
        return "\n".join(
            f"<tool_call>{call.name}\n"
            + "".join(
                f"<arg_key>{key}</arg_key>\n<arg_value>{self._text(call.arguments[key])}</arg_value>\n"
                for key in sorted(call.arguments)
            )
            + "</tool_call>"
            for call in calls
        )


class Functions(_Typed):
    """Calls with a tag for the function and for each parameter, as Qwen3-Coder writes them."""

    name = "functions"
    opening = "<tool_call>"
    example = "<tool_call>\n<function=name>\n<parameter=...>\n...\n</parameter>\n</function>\n</tool_call>"

    _CALL = re.compile(r"<function=([^>\s]+)>\s*(.*?)\s*</function>", re.DOTALL)
    _PAIR = re.compile(r"\s*<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>\s*", re.DOTALL)

    def read(self, text: str, tools: Mapping[str, Tool]) -> tuple[Call, ...]:
        calls = []
        for inside in _between(text, "<tool_call>", "</tool_call>"):
            form = self._CALL.fullmatch(inside)
            if form is None:
                raise ValueError(f"a call is written {self.example}")
            tool, found = tools.get(form[1]), _pairs(self._PAIR, form[2])
            calls.append(Call(form[1], each_key_once((key, self._value(tool, key, value)) for key, value in found)))
        return tuple(calls)

    def write(self, calls: Sequence[Call]) -> str:
        return "\n".join(
            f"<tool_call>\n<function={call.name}>\n"
            + "".join(
                f"<parameter={key}>\n{self._text(call.arguments[key])}\n</parameter>\n"
                for key in sorted(call.arguments)
            )
            + "</function>\n</tool_call>"
            for call in calls
        )


DIALECTS: dict[str, Dialect] = {one.name: one for one in (Hermes(), Llama(), Keys(), Functions())}


def dialect(name: str) -> Dialect:
    """The dialect called `name`. Raises `UnknownName`."""
    try:
        return DIALECTS[name]
    except KeyError:
        raise UnknownName("dialect of tool calls", name, DIALECTS) from None


def _between(text: str, opening: str, closing: str) -> Iterator[str]:
    """The stripped texts between pairs of tags, of which there is at least one. Raises `ValueError` if there is
    anything else."""
    rest = text.strip()
    while True:
        if not rest.startswith(opening):
            raise ValueError(f"a call begins with {opening}")
        inside, closed, rest = rest.removeprefix(opening).partition(closing)
        if not closed:
            raise ValueError(f"a call ends with {closing}")
        yield inside.strip()
        if not (rest := rest.lstrip()):
            return


def _pairs(form: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        pair = form.match(text, at)
        if pair is None:
            raise ValueError("the arguments of a call are pairs of keys and values")
        yield pair[1], pair[2]
        at = pair.end()


def _is_text(tool: Tool | None, name: str) -> bool:
    """True if the tool's argument may be text, or if nothing says what it is."""
    if tool is None:
        return True
    properties = tool.parameters.get("properties")
    described = properties.get(name, True) if isinstance(properties, Mapping) else True
    kinds = set(_kinds(described, tool.parameters, 0))
    return not kinds or "string" in kinds


def _kinds(schema: Any, whole: Mapping[str, Any], depth: int) -> Iterator[str]:
    """The JSON types that a schema lets through, as far as it names any."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    yield from types_of(schema) or ()
    for value in [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]:
        yield "string" if isinstance(value, str) else "other"
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    if (reference := schema.get("$ref")) is not None:
        choices.append(_pointed(str(reference), whole))
    for choice in choices:
        yield from _kinds(choice, whole, depth + 1)


def _pointed(reference: str, whole: Mapping[str, Any]) -> Any:
    """What a pointer such as `#/$defs/a` points to in a schema; None for nothing."""
    found: Any = whole
    for step in reference.removeprefix("#").split("/")[1:]:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
