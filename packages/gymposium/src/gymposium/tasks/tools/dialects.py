"""Dialects: how language models write tool calls in their replies.

Reading is strict. A reply consists of optional thoughts and one or more calls, separated only by whitespace. A
duplicate key, `NaN` or any other text makes a reply unreadable.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, Protocol

from gymposium.errors import UnknownName
from gymposium.tasks.tools.calls import Call
from gymposium.tasks.tools.merging import list_types
from gymposium.tasks.tools.tool import Tool
from gymposium.util.strict_json import build_object, parse_strict_json


class Dialect(Protocol):
    """A form of tool calls in replies."""

    name: str
    example: str
    """The form of a call, for the instructions of a prompt."""
    opening: str
    """The text that begins each call; empty if a call may begin differently."""

    def read(self, text: str, tools: Mapping[str, Tool]) -> tuple[Call, ...]:
        """Parse `text` into calls. Raises `ValueError` for text of another form."""
        ...

    def write(self, calls: Sequence[Call]) -> str:
        """Write these calls as text. Raises `ValueError` for calls that the dialect cannot express."""
        ...


class Hermes:
    """Calls as JSON between tags, as Qwen 2.5, Qwen 3 and Hermes write them."""

    name = "hermes"
    opening = "<tool_call>"
    example = '<tool_call>\n{"name": "...", "arguments": {...}}\n</tool_call>'

    def read(self, text: str, tools: Mapping[str, Tool]) -> tuple[Call, ...]:
        return tuple(
            Call.parse(parse_strict_json(inside, any_integer=True))
            for inside in _split_tags(text, "<tool_call>", "</tool_call>")
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
        return (Call.parse(parse_strict_json(text, any_integer=True), "parameters"),)

    def write(self, calls: Sequence[Call]) -> str:
        if len(calls) != 1:
            raise ValueError(f"the llama dialect writes one call per reply, not {len(calls)}")
        written = json.loads(calls[0].json)
        return json.dumps({"name": written["name"], "parameters": written["arguments"]}, ensure_ascii=False)


class _TypedDialect(ABC):
    """Base class of dialects that write string arguments verbatim and others as JSON, depending on the tool's
    schema."""

    name: str

    def read(self, text: str, tools: Mapping[str, Tool]) -> tuple[Call, ...]:
        return tuple(
            Call(name, build_object((key, _parse_value(tools.get(name), key, value)) for key, value in arguments))
            for name, arguments in self._split(text)
        )

    def write(self, calls: Sequence[Call]) -> str:
        parts = [
            (call.name, [(key, _format_value(call.arguments[key])) for key in sorted(call.arguments)]) for call in calls
        ]
        written = "\n".join(self._join(name, arguments) for name, arguments in parts)
        try:
            same = [*self._split(written)] == parts
        except ValueError:
            same = False
        if not same:
            raise ValueError(f"the dialect {self.name} cannot write names or texts that contain its own tags")
        return written

    @abstractmethod
    def _split(self, text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield each call's name, with the names and texts of its arguments.

        Raises `ValueError` for text of another form."""

    @abstractmethod
    def _join(self, name: str, arguments: Sequence[tuple[str, str]]) -> str:
        """Return the text of one call."""


class Keys(_TypedDialect):
    """Calls with a tag per key and per value, as GLM 4.5 and later write them."""

    name = "keys"
    opening = "<tool_call>"
    example = "<tool_call>name\n<arg_key>...</arg_key>\n<arg_value>...</arg_value>\n</tool_call>"

    def _split(self, text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        for inside in _split_tags(text, "<tool_call>", "</tool_call>"):
            name, tag, _ = inside.partition("<arg_key>")
            yield name.strip(), [*self._read_pairs(_Scanner(inside, len(name)))] if tag else []

    def _read_pairs(self, scanner: _Scanner) -> Iterator[tuple[str, str]]:
        while not scanner.is_done:
            scanner.take("<arg_key>")
            key = scanner.take_until("</arg_key>")
            scanner.skip_space()
            scanner.take("<arg_value>")
            yield key, scanner.take_until("</arg_value>")
            scanner.skip_space()

    def _join(self, name: str, arguments: Sequence[tuple[str, str]]) -> str:
        pairs = (f"<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>\n" for key, text in arguments)
        return f"<tool_call>{name}\n{''.join(pairs)}</tool_call>"


class Functions(_TypedDialect):
    """Calls with a tag for the function and a tag per parameter, as Qwen3-Coder writes them."""

    name = "functions"
    opening = "<tool_call>"
    example = "<tool_call>\n<function=name>\n<parameter=...>\n...\n</parameter>\n</function>\n</tool_call>"

    def _split(self, text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        for inside in _split_tags(text, "<tool_call>", "</tool_call>"):
            scanner = _Scanner(inside.removesuffix("</function>").rstrip())
            scanner.take("<function=")
            name = scanner.take_name()
            if not inside.endswith("</function>"):
                raise ValueError(f"write a call as {self.example}")
            scanner.skip_space()
            yield name, [*self._read_pairs(scanner)]

    def _read_pairs(self, scanner: _Scanner) -> Iterator[tuple[str, str]]:
        while not scanner.is_done:
            scanner.take("<parameter=")
            key = scanner.take_name()
            yield key, scanner.take_until("</parameter>").removeprefix("\n").removesuffix("\n")
            scanner.skip_space()

    def _join(self, name: str, arguments: Sequence[tuple[str, str]]) -> str:
        pairs = (f"<parameter={key}>\n{text}\n</parameter>\n" for key, text in arguments)
        return f"<tool_call>\n<function={name}>\n{''.join(pairs)}</function>\n</tool_call>"


DIALECTS: dict[str, Dialect] = {one.name: one for one in (Hermes(), Llama(), Keys(), Functions())}


def get_dialect(name: str) -> Dialect:
    """Return the dialect called `name`. Raises `UnknownName` for an unknown name."""
    try:
        return DIALECTS[name]
    except KeyError:
        raise UnknownName("tool-call dialect", name, DIALECTS) from None


def _split_tags(text: str, opening: str, closing: str) -> Iterator[str]:
    """Yield the stripped texts between pairs of tags.

    Raises `ValueError` without a pair, or if there is any other text."""
    scanner = _Scanner(text.strip())
    while True:
        scanner.take(opening)
        yield scanner.take_until(closing).strip()
        scanner.skip_space()
        if scanner.is_done:
            return


class _Scanner:
    """A scanner that reads a text once, in linear time."""

    _SPACE = re.compile(r"\s*+")

    def __init__(self, text: str, at: int = 0) -> None:
        self._text, self._at = text, at

    @property
    def is_done(self) -> bool:
        """Return whether the whole text has been read."""
        return self._at >= len(self._text)

    def take(self, tag: str) -> None:
        """Consume this tag. Raises `ValueError` for anything else."""
        if not self._text.startswith(tag, self._at):
            raise ValueError(f"{tag} is missing in a call")
        self._at += len(tag)

    def take_until(self, tag: str) -> str:
        """Return the text before the next occurrence of this tag, and consume both.

        Raises `ValueError` if the tag is missing."""
        end = self._text.find(tag, self._at)
        if end < 0:
            raise ValueError(f"{tag} is missing in a call")
        part, self._at = self._text[self._at : end], end + len(tag)
        return part

    def take_name(self) -> str:
        """Return the name before the next `>`, and consume both.

        Raises `ValueError` if the name is missing or contains spaces."""
        name = self.take_until(">")
        if name.split() != [name]:
            raise ValueError(f"the name {name[:80]!r} in a call must be one word")
        return name

    def skip_space(self) -> None:
        """Skip whitespace."""
        space = self._SPACE.match(self._text, self._at)
        assert space is not None
        self._at = space.end()


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)


def _parse_value(tool: Tool | None, name: str, text: str) -> Any:
    """Parse an argument's value.

    It is JSON if the schema does not allow text, or if the text is JSON of another allowed type. Otherwise, and without
    a schema, it is text. Raises `ValueError` for invalid JSON."""
    properties = None if tool is None else tool.parameters.get("properties")
    described = properties.get(name, True) if isinstance(properties, Mapping) else True
    types = set(_list_types(described, {} if tool is None else tool.parameters))
    if not types or types == {"string"}:
        return text
    try:
        value = parse_strict_json(text, any_integer=True)
    except ValueError:
        if "string" in types:
            return text
        raise
    return text if "string" in types and _name_json_type(value) not in types - {"string"} else value


def _list_types(schema: Any, whole: Mapping[str, Any]) -> Iterator[str]:
    """Yield the JSON types that a schema allows, if it names any. If it allows numbers, it also allows integers."""
    waiting, followed = [schema], set()
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, Mapping):
            continue
        given = [*_get_list(schema, "enum"), *([schema["const"]] if "const" in schema else [])]
        for kind in [*(list_types(schema) or ()), *map(_name_json_type, given)]:
            yield from ("number", "integer") if kind == "number" else (kind,)
        for keyword in ("anyOf", "oneOf", "allOf"):
            waiting += _get_list(schema, keyword)
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in followed:
            followed.add(reference)
            waiting.append(_resolve_pointer(reference, whole))


def _get_list(schema: Mapping[str, Any], keyword: str) -> Sequence[Any]:
    """Return the list under a keyword, or an empty list if the value is not a list."""
    value = schema.get(keyword)
    return value if isinstance(value, list | tuple) else ()


_JSON_TYPES = {NoneType: "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}


def _name_json_type(value: Any) -> str:
    """Return the JSON type of a value."""
    return _JSON_TYPES.get(type(value), "object")


def _resolve_pointer(reference: str, whole: Mapping[str, Any]) -> Any:
    """Return the target of a pointer such as `#/$defs/a` in a schema, or None."""
    found: Any = whole
    for step in reference.removeprefix("#").split("/")[1:]:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
