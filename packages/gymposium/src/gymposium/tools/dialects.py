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
        """The text of these calls. Raises `ValueError` for calls that the dialect cannot write."""
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
        texts = (call.json.replace("</tool_call>", r"<\/tool_call>") for call in calls)  # the same JSON
        return "\n".join(f"<tool_call>\n{text}\n</tool_call>" for text in texts)


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

    name: str

    def read(self, text: str, tools: Mapping[str, Tool]) -> tuple[Call, ...]:
        return tuple(
            Call(name, each_key_once((key, _value(tools.get(name), key, value)) for key, value in arguments))
            for name, arguments in self._split(text)
        )

    def write(self, calls: Sequence[Call]) -> str:
        parts = [(call.name, [(key, _text(call.arguments[key])) for key in sorted(call.arguments)]) for call in calls]
        written = "\n".join(self._join(name, arguments) for name, arguments in parts)
        try:
            same = [*self._split(written)] == parts
        except ValueError:
            same = False
        if not same:
            raise ValueError(f"the dialect {self.name} cannot write names or texts with its own tags in them")
        return written

    def _split(self, text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """The name of each call, with the names and texts of its arguments. Raises `ValueError`."""
        raise NotImplementedError

    def _join(self, name: str, arguments: Sequence[tuple[str, str]]) -> str:
        """The text of one call."""
        raise NotImplementedError


class Keys(_Typed):
    """Calls with a tag for each key and each value, as GLM 4.5 and later write them."""

    name = "keys"
    opening = "<tool_call>"
    example = "<tool_call>name\n<arg_key>...</arg_key>\n<arg_value>...</arg_value>\n</tool_call>"

    _PAIR = re.compile(r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>\s*", re.DOTALL)

    def _split(self, text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        for inside in _between(text, "<tool_call>", "</tool_call>"):
            name, tag, rest = inside.partition("<arg_key>")
            yield name.strip(), [*_pairs(self._PAIR, tag + rest)]

    def _join(self, name: str, arguments: Sequence[tuple[str, str]]) -> str:
        pairs = (f"<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>\n" for key, text in arguments)
        return f"<tool_call>{name}\n{''.join(pairs)}</tool_call>"


class Functions(_Typed):
    """Calls with a tag for the function and for each parameter, as Qwen3-Coder writes them."""

    name = "functions"
    opening = "<tool_call>"
    example = "<tool_call>\n<function=name>\n<parameter=...>\n...\n</parameter>\n</function>\n</tool_call>"

    _CALL = re.compile(r"<function=([^>\s]+)>\s*(.*?)\s*</function>", re.DOTALL)
    _PAIR = re.compile(r"\s*<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>\s*", re.DOTALL)

    def _split(self, text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        for inside in _between(text, "<tool_call>", "</tool_call>"):
            form = self._CALL.fullmatch(inside)
            if form is None:
                raise ValueError(f"a call is written {self.example}")
            yield form[1], [*_pairs(self._PAIR, form[2])]

    def _join(self, name: str, arguments: Sequence[tuple[str, str]]) -> str:
        pairs = (f"<parameter={key}>\n{text}\n</parameter>\n" for key, text in arguments)
        return f"<tool_call>\n<function={name}>\n{''.join(pairs)}</function>\n</tool_call>"


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


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)


def _value(tool: Tool | None, name: str, text: str) -> Any:
    """The value of an argument: JSON if it may not be text, or if it is JSON of another type that it may have; else its
    text. An argument that no schema describes is text. Raises `ValueError`."""
    properties = None if tool is None else tool.parameters.get("properties")
    described = properties.get(name, True) if isinstance(properties, Mapping) else True
    types = set(_types(described, {} if tool is None else tool.parameters, 0))
    if not types or types == {"string"}:
        return text
    try:
        value = strict_json(text, any_integer=True)
    except ValueError:
        if "string" in types:
            return text
        raise
    return text if "string" in types and _type_of(value) not in types - {"string"} else value


def _types(schema: Any, whole: Mapping[str, Any], depth: int) -> Iterator[str]:
    """The JSON types that a schema lets through, as far as it names any. A number may be an integer."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    given = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    for kind in [*(types_of(schema) or ()), *map(_type_of, given)]:
        yield from ("number", "integer") if kind == "number" else (kind,)
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    if (reference := schema.get("$ref")) is not None:
        choices.append(_pointed(str(reference), whole))
    for choice in choices:
        yield from _types(choice, whole, depth + 1)


def _type_of(value: Any) -> str:
    """The JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _pointed(reference: str, whole: Mapping[str, Any]) -> Any:
    """What a pointer such as `#/$defs/a` points to in a schema; None for nothing."""
    found: Any = whole
    for step in reference.removeprefix("#").split("/")[1:]:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
