"""How a model is asked: what a run trains with, what `lm:` and `api:` read from their options, what stands in
`player.json` beside a model or an adapter."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self, get_args, get_type_hints
from urllib.parse import unquote

from gymposium.errors import BadOption, UnknownName
from gymposium.games.protocol import Style
from gymposium.reading import reader
from gymposium_agents.context import context


@dataclass(frozen=True, slots=True)
class PlayerSettings:
    """How a model is asked, and how it answers. Raises `BadOption` or `UnknownName` for a value that cannot be."""

    style: Style = "compact"
    """The prompt style."""
    reply: str = "move"
    """The form of its replies: move, tags or json."""
    max_tokens: int = 16
    """At most so many tokens in a reply; a longer one is cut off."""
    context: str = "state"
    """What it reads of the match so far: state, full, truncated or last-K."""
    temperature: float = 0.0
    """0: its most likely reply, always."""
    thinking: bool = False
    """Whether a model whose template can let it think first does so."""

    FILE: ClassVar[str] = "player.json"

    def __post_init__(self) -> None:
        if self.style not in ("full", "compact"):
            raise BadOption(f"prompt={self.style!r}: write full or compact.")
        reader(self.reply)
        if not isinstance(self.context, str):
            raise BadOption(f"context={self.context!r}: write state, full, truncated or last-K.")
        context(self.context)
        if not _is_number(self.max_tokens, int) or self.max_tokens < 1:
            raise BadOption(f"max_tokens={self.max_tokens!r}: must be a whole number, at least 1.")
        if not _is_number(self.temperature, int, float) or not 0 <= self.temperature < math.inf:
            raise BadOption(f"temperature={self.temperature!r}: must be a number, at least 0.")
        if not isinstance(self.thinking, bool):
            raise BadOption(f"thinking={self.thinking!r}: write true or false.")

    def with_options(self, options: Mapping[str, str], *, others: Iterable[str] = ()) -> Self:
        """These settings with those of a player's options: `{"context": "full", "prompt": "compact"}`. The names in
        `others` are left to the caller.

        Raises `UnknownName` with the nearest name, and `BadOption` or `UnknownName` for a value that cannot be."""
        others = frozenset(others)
        given: dict[str, Any] = {}
        for name, value in options.items():
            if name in others:
                continue
            if name not in _OPTIONS:
                raise UnknownName("option of a player", name, {*_OPTIONS, *others})
            field, convert = _OPTIONS[name]
            given[field] = convert(name, value)
        return replace(self, **given)

    def save(self, directory: Path) -> None:
        (directory / self.FILE).write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def beside(cls, *places: str | Path) -> Self:
        """The settings in the first of these directories that has some, or the defaults.

        Raises `BadOption` for a file that cannot be read as settings."""
        for place in places:
            file = Path(place) / cls.FILE
            if file.is_file():
                return cls._read(file)
        return cls()

    @classmethod
    def _read(cls, file: Path) -> Self:
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise BadOption(f"{file} is not JSON ({error}). Repair it, or delete it for the defaults.") from error
        if not isinstance(found, dict):
            raise BadOption(f"{file} must hold a JSON object. Repair it, or delete it for the defaults.")
        known = {field.name for field in fields(cls)}
        if unknown := sorted(found.keys() - known):
            raise BadOption(
                f"{file} has keys that this version does not know: {', '.join(unknown)}. Known: "
                f"{', '.join(sorted(known))}. Remove them, or use the version of gymposium-agents that wrote it."
            )
        try:
            return cls(**found)
        except (BadOption, UnknownName) as error:
            raise BadOption(f"{file}: {error}") from error


def parse_options(text: str | None) -> dict[str, str]:
    """`context=full&reply=tags` as `{"context": "full", "reply": "tags"}`. A value may hold anything percent-encoded;
    `&` must be (%26).

    Raises `BadOption` for what is not of the form name=value, and for a name given twice."""
    options: dict[str, str] = {}
    for item in text.split("&") if text else ():
        name, equals, value = item.partition("=")
        if not name or not equals or not value:
            raise BadOption(f"{item!r} in {text!r} is not of the form name=value. Write  context=full&reply=tags")
        if name in options:
            raise BadOption(f"{text!r} gives {name!r} twice.")
        options[name] = unquote(value)
    return options


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def typed_options(settings: type, options: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Options as values of the types that the fields of a settings class have, for `gymposium.settings.read_settings`.
    An option of a field that is a tuple may be given several times. Unknown names keep their text.

    Raises `BadOption` for text that is not of the field's type."""
    hints = get_type_hints(settings)
    values: dict[str, Any] = {}
    for name, value in options:
        types = {hints.get(name), *get_args(hints.get(name))}
        if ... in types:  # tuple[str, ...]
            values[name] = (*values.get(name, ()), value)
        else:
            read = next((read for kind, read in _READERS.items() if kind in types), text)
            values[name] = read(name, value)
    return values


def text(name: str, value: str) -> str:
    """An option that is any text."""
    return value


def whole(name: str, value: str) -> int:
    """An option that is a whole number. Raises `BadOption` for anything else, as do the next two."""
    try:
        return int(value)
    except ValueError:
        raise BadOption(f"{name}={value!r}: must be a whole number.") from None


def number(name: str, value: str) -> float:
    """An option that is a number."""
    try:
        return float(value)
    except ValueError:
        raise BadOption(f"{name}={value!r}: must be a number.") from None


def boolean(name: str, value: str) -> bool:
    """An option that is true or false."""
    if value not in ("true", "false"):
        raise BadOption(f"{name}={value!r}: write true or false.")
    return value == "true"


_READERS = {bool: boolean, int: whole, float: number}

_OPTIONS = {
    "context": ("context", text),
    "max_tokens": ("max_tokens", whole),
    "prompt": ("style", text),
    "reply": ("reply", text),
    "temperature": ("temperature", number),
    "thinking": ("thinking", boolean),
}
"""Options as they are written, each with its setting and how it is read."""
