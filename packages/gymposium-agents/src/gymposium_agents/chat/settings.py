"""The settings of a language-model player: prompt style, form of reply, context, sampling.

A training run sets them, the players `lm:` and `api:` read them from their options, and `player.json` holds them beside
a model or an adapter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args, get_type_hints
from urllib.parse import unquote

from gymposium.errors import BadOption, UnknownName
from gymposium.games.protocol import Style
from gymposium.replies.reading import LenientReader, Reader, lenient, reader
from gymposium.tasks.tools.dialects import DIALECTS
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.util.durable import replace_text
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import strict_json
from gymposium_agents.chat.context import context
from gymposium_agents.chat.tokens import History
from gymposium_agents.modeling.model_files import MOST_SETTINGS_BYTES

ReadingName = Literal["strict", "lenient"]

TOOLS = "tools"
"""The form of replies in which a model calls tools in the way of its own chat template."""


@dataclass(frozen=True, slots=True)
class PlayerSettings:
    """How a model is asked, and how it answers. The defaults suit a pretrained model, which reads the rules and may
    think before it moves. Raises `BadOption` or `UnknownName` for an invalid value."""

    style: Style = "full"
    """The prompt style."""
    reply: str = "tags"
    """The form of the model's replies: move, tags or json; in a game with tools also tools, the way of calling tools
    that the model's chat template has."""
    max_tokens: int = 512
    """The largest number of tokens in a reply; a longer reply is cut off."""
    context: str = "state"
    """The part of the match so far that the model reads: state, full, truncated or last-K."""
    temperature: float = 0.0
    """The sampling temperature. At 0 the model always gives its most likely reply."""
    thinking: bool = False
    """Whether the model thinks before it answers, if its chat template supports that."""
    history: History = "template"
    """What becomes of past turns with `context = "full"`. `template`: what the chat template makes of them. `kept`:
    they stay as they were, with thoughts that a template such as Qwen3's drops."""

    reading: ReadingName = "strict"
    """How replies are read. `strict`: all of a reply must have its form, as in training. `lenient`: a marked move is
    also found after thoughts, within text and in code fences. Calls of tools are always read strictly."""

    FILE: ClassVar[str] = "player.json"

    def __post_init__(self) -> None:
        if self.style not in ("full", "compact"):
            raise BadOption(f"prompt={self.style!r}: write full or compact.")
        form_of(self.reply)  # raises for a name that does not exist, as does the next line
        context(self.context)
        if not _is_number(self.max_tokens, int) or self.max_tokens < 1:
            raise BadOption(f"max_tokens={self.max_tokens!r}: must be a whole number, at least 1.")
        if not _is_number(self.temperature, int, float) or not 0 <= self.temperature < math.inf:
            raise BadOption(f"temperature={self.temperature!r}: must be a number, at least 0.")
        if self.history not in ("template", "kept"):
            raise BadOption(f"history={self.history!r}: write template or kept.")
        if not isinstance(self.thinking, bool):
            raise BadOption(f"thinking={self.thinking!r}: write true or false.")
        if self.reading not in get_args(ReadingName):
            raise BadOption(f"reading={self.reading!r}: write strict or lenient.")

    def with_options(self, options: Mapping[str, str], *, others: Iterable[str] = ()) -> Self:
        """These settings, changed by a player's options: `{"context": "full", "prompt": "compact"}`. Options named in
        `others` belong to the caller and are passed over.

        Raises `UnknownName` for an unknown option, with the nearest name, and `BadOption` or `UnknownName` for an
        invalid value."""
        others = frozenset(others)
        names = {_OPTION_NAMES.get(field.name, field.name): field.name for field in fields(self)}
        for name in options:
            if name not in names and name not in others:
                raise UnknownName("option of a player", name, {*names, *others})
        own = [(names[name], value) for name, value in options.items() if name not in others]
        changed = replace(self, **typed_options(PlayerSettings, own))
        if "reading" in options and changed.reading == "lenient":
            lenient(form_of(changed.reply))  # raises for calls of tools
        return changed

    def save(self, directory: Path) -> None:
        """Write the settings to `player.json` in a directory."""
        replace_text(directory / self.FILE, json.dumps(asdict(self)) + "\n")

    @classmethod
    def beside(cls, *places: str | Path) -> Self:
        """The settings in the `player.json` of the first directory that has one. Without one the model was not trained
        here: the defaults, with replies read leniently.

        Raises `BadOption` for a file that does not hold settings."""
        for place in places:
            file = Path(place) / cls.FILE
            if file.exists():
                return cls._read(file)
        return cls(reading="lenient")

    @classmethod
    def _read(cls, file: Path) -> Self:
        try:
            values = strict_json(read_plain_text(file, MOST_SETTINGS_BYTES))
        except OSError as error:
            raise BadOption(f"{file} cannot be read ({error.strerror}). Delete it for the defaults.") from error
        except ValueError as error:
            raise BadOption(f"{file} is not JSON ({error}). Repair it, or delete it for the defaults.") from error
        if not isinstance(values, dict):
            raise BadOption(f"{file} must hold a JSON object. Repair it, or delete it for the defaults.")
        known = {field.name for field in fields(cls)}
        if unknown := sorted(values.keys() - known):
            raise BadOption(
                f"{file} has keys that this version does not know: {', '.join(unknown)}. Known: "
                f"{', '.join(sorted(known))}. Remove them, or use the version of gymposium-agents that wrote it."
            )
        try:
            return cls(**values)
        except (BadOption, UnknownName) as error:
            raise BadOption(f"{file}: {error}") from error


def form_of(reply: str) -> Reader:
    """The form of replies called `reply`, for messages. With `tools` a message has its calls apart from its text, and
    the chat template writes them, so that the dialect of this form is of no account. Raises `UnknownName`, or
    `BadOption` for anything but text."""
    if reply == TOOLS:
        return ToolsReader(DIALECTS["hermes"])
    form = reader(reply)
    if isinstance(form, LenientReader):
        raise BadOption(f"reply={reply!r}: write reply={form.strict.name}. A player has the option reading=lenient.")
    return form


def read_as(form: Reader, reading: ReadingName) -> Reader:
    """Return the reader of a form of replies. Calls of tools are read strictly, whatever `reading` says."""
    return lenient(form) if reading == "lenient" and not isinstance(form, ToolsReader) else form


def parse_options(text: str | None) -> dict[str, str]:
    """`context=full&reply=tags` as `{"context": "full", "reply": "tags"}`. Any character of a value may be
    percent-encoded; `&` must be (%26).

    Raises `BadOption` for an option that is not of the form name=value, and for a name that is given twice."""
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
    """Return options as values of the types of a settings class's fields, for `gymposium.util.settings.read_settings`.

    An option of a field that is a tuple may be given several times. Unknown names keep their text.

    Raises `BadOption` for text that is not of the field's type."""
    hints = get_type_hints(settings)
    values: dict[str, Any] = {}
    for name, value in options:
        types = {hints.get(name), *get_args(hints.get(name))}
        if ... in types:  # tuple[str, ...]
            values[name] = (*values.get(name, ()), value)
        else:
            values[name] = boolean(name, value) if bool in types else _number_or_text(name, value, types)
    return values


def boolean(name: str, value: str) -> bool:
    """The value of an option that is true or false. Raises `BadOption` for any other text."""
    if value not in ("true", "false"):
        raise BadOption(f"{name}={value!r}: write true or false.")
    return value == "true"


def _number_or_text(name: str, value: str, types: Container[Any]) -> int | float | str:
    for kind, description in ((int, "a whole number"), (float, "a number")):
        if kind in types:
            try:
                return kind(value)
            except ValueError:
                raise BadOption(f"{name}={value!r}: must be {description}.") from None
    return value


_OPTION_NAMES = {"style": "prompt"}
"""Settings that have another name as an option."""
