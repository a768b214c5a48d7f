"""The settings of a language-model player: prompt style, form of reply, context, sampling.

A training run sets them, the players `lm:` and `api:` read them from their options, and `player.json` stores them
beside a model or an adapter.
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
from gymposium.replies.reading import LenientReader, Reader, get_lenient_reader, get_reader
from gymposium.tasks.tools.dialects import DIALECTS
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.util.durable import replace_text
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium_agents.chat.context import Pictures, parse_context
from gymposium_agents.chat.tokens import History
from gymposium_agents.modeling.model_files import MOST_SETTINGS_BYTES

ReadingName = Literal["strict", "lenient"]
PromptName = Literal["full", "compact", "image", "both"]
"""The option `prompt`: a prompt style, or the full prompt with pictures."""

TOOLS = "tools"
"""The form of replies for tool calls in the chat template's format."""


@dataclass(frozen=True, slots=True)
class PlayerSettings:
    """The prompts of a model and the form of its answers. The defaults suit a pretrained model that reads the rules and
    may think before it moves. Raises `BadOption` or `UnknownName` for an invalid value."""

    style: Style = "full"
    """The prompt style."""
    reply: str = "tags"
    """The form of the model's replies: move, tags or json. Games with tools also allow tools, the chat template's
    format of tool calls."""
    max_tokens: int = 512
    """The maximum number of tokens in a reply. A longer reply is cut off."""
    context: str = "state"
    """Which past turns the model reads: state, full, truncated or last-K."""
    temperature: float = 0.0
    """The sampling temperature. At 0, the model always gives its most likely reply."""
    thinking: bool = False
    """Whether the model thinks before it answers, if its chat template supports that."""
    history: History = "template"
    """How past turns appear with `context = "full"`. `template`: as the chat template renders them. `kept`: unchanged,
    with thoughts that a template such as Qwen3's would drop."""

    reading: ReadingName = "strict"
    """How replies are read. `strict`: the whole reply must have the requested form, as in training. `lenient`: a marked
    move is also found after thoughts, within text and in code fences. Tool calls are always read strictly."""

    pictures: Pictures = "none"
    """Whether the model sees pictures. The option `prompt` is `image` or `both`, with the style `full`."""

    FILE: ClassVar[str] = "player.json"

    @property
    def prompt(self) -> PromptName:
        """The option `prompt` of these settings."""
        return self.style if self.pictures == "none" else self.pictures

    def __post_init__(self) -> None:
        if self.style not in ("full", "compact"):
            raise BadOption(
                f"Invalid prompt={self.style!r}. Use full or compact, or image or both for models that see."
            )
        if self.pictures not in get_args(Pictures) or (self.pictures != "none" and self.style != "full"):
            raise BadOption(f"Invalid pictures={self.pictures!r}. Use none, or image or both with the style full.")
        find_reply_form(self.reply)  # raises for an unknown name, as does the next line
        parse_context(self.context)
        if not _is_number(self.max_tokens, int) or self.max_tokens < 1:
            raise BadOption(f"max_tokens={self.max_tokens!r}: must be a whole number, at least 1.")
        if not _is_number(self.temperature, int, float) or not 0 <= self.temperature < math.inf:
            raise BadOption(f"temperature={self.temperature!r}: must be a number, at least 0.")
        if self.history == "kept" and self.pictures != "none":
            raise BadOption(f"history=kept is not supported with prompt={self.pictures}. Omit it.")
        if self.history not in ("template", "kept"):
            raise BadOption(f"Invalid history={self.history!r}. Use template or kept.")
        if not isinstance(self.thinking, bool):
            raise BadOption(f"Invalid thinking={self.thinking!r}. Use true or false.")
        if self.reading not in get_args(ReadingName):
            raise BadOption(f"Invalid reading={self.reading!r}. Use strict or lenient.")

    def with_options(self, options: Mapping[str, str], *, others: Iterable[str] = ()) -> Self:
        """Return these settings, changed by a player's options: `{"context": "full", "prompt": "compact"}`. Options
        named in `others` belong to the caller and are ignored.

        Raises `UnknownName` for an unknown option, with the closest name, and `BadOption` or `UnknownName` for an
        invalid value."""
        others = frozenset(others)
        names = {_OPTION_NAMES.get(one.name, one.name): one.name for one in fields(self) if one.name != "pictures"}
        for name in options:
            if name not in names and name not in others:
                raise UnknownName("player option", name, {*names, *others})
        own = [(names[name], value) for name, value in options.items() if name not in others]
        values = convert_options(PlayerSettings, own)
        if "style" in values:
            values["style"], values["pictures"] = split_prompt(values["style"])
        changed = replace(self, **values)
        if "reading" in options and changed.reading == "lenient":
            get_lenient_reader(find_reply_form(changed.reply))  # raises for tool calls
        return changed

    def save(self, directory: Path) -> None:
        """Write the settings to `player.json` in a directory."""
        replace_text(directory / self.FILE, json.dumps(asdict(self)) + "\n")

    @classmethod
    def beside(cls, *places: str | Path) -> Self:
        """Read the settings in the `player.json` of the first directory that has one. Without one, returns the defaults
        with lenient reading, because the model was not trained here.

        Raises `BadOption` for an invalid file."""
        for place in places:
            file = Path(place) / cls.FILE
            if file.exists():
                return cls._read(file)
        return cls(reading="lenient")

    @classmethod
    def _read(cls, file: Path) -> Self:
        try:
            values = parse_strict_json(read_plain_text(file, MOST_SETTINGS_BYTES))
        except OSError as error:
            raise BadOption(f"Cannot read {file} ({error.strerror}). Delete it to use the defaults.") from error
        except ValueError as error:
            raise BadOption(
                f"{file} is not valid JSON ({error}). Repair it, or delete it to use the defaults."
            ) from error
        if not isinstance(values, dict):
            raise BadOption(f"{file} must contain a JSON object. Repair it, or delete it to use the defaults.")
        known = {field.name for field in fields(cls)}
        if unknown := sorted(values.keys() - known):
            raise BadOption(
                f"{file} has unknown keys: {', '.join(unknown)}. Known keys: {', '.join(sorted(known))}. Remove them, "
                f"or use the version of gymposium-agents that wrote the file."
            )
        try:
            return cls(**values)
        except (BadOption, UnknownName) as error:
            raise BadOption(f"{file}: {error}") from error


def split_prompt(prompt: PromptName) -> tuple[Style, Pictures]:
    """Return the style and the pictures of the option `prompt`."""
    return ("full", prompt) if prompt == "image" or prompt == "both" else (prompt, "none")


def find_reply_form(reply: str) -> Reader:
    """Return the form of replies called `reply`, for messages. With `tools`, messages hold calls separately from text,
    and the chat template writes the calls. The dialect of this form therefore does not matter. Raises `UnknownName`, or
    `BadOption` for anything but text."""
    if reply == TOOLS:
        return ToolsReader(DIALECTS["hermes"])
    form = get_reader(reply)
    if isinstance(form, LenientReader):
        raise BadOption(
            f"Invalid reply={reply!r}. Use reply={form.strict.name}, with the player option reading=lenient."
        )
    return form


def choose_reader_for(form: Reader, reading: ReadingName) -> Reader:
    """Return the reader of a form of replies. Tool calls are read strictly, regardless of `reading`."""
    return get_lenient_reader(form) if reading == "lenient" and not isinstance(form, ToolsReader) else form


def parse_options(text: str | None) -> dict[str, str]:
    """Parse `context=full&reply=tags` as `{"context": "full", "reply": "tags"}`. Any character of a value may be
    percent-encoded. `&` must be (%26).

    Raises `BadOption` for an option that is not name=value, and for a duplicate name."""
    options: dict[str, str] = {}
    for item in text.split("&") if text else ():
        name, equals, value = item.partition("=")
        if not name or not equals or not value:
            raise BadOption(f"{item!r} in {text!r} is not of the form name=value. Example: context=full&reply=tags")
        if name in options:
            raise BadOption(f"Duplicate option {name!r} in {text!r}. Give it once.")
        options[name] = unquote(value)
    return options


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def convert_options(settings: type, options: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Convert options to the types of a settings class's fields, for `gymposium.util.settings.read_settings`.

    A tuple field's option may be repeated. Unknown names keep their text.

    Raises `BadOption` for text of the wrong type."""
    hints = get_type_hints(settings)
    values: dict[str, Any] = {}
    for name, value in options:
        types = {hints.get(name), *get_args(hints.get(name))}
        if ... in types:  # tuple[str, ...]
            values[name] = (*values.get(name, ()), value)
        else:
            values[name] = parse_boolean(name, value) if bool in types else _parse_number(name, value, types)
    return values


def parse_boolean(name: str, value: str) -> bool:
    """Parse an option that is true or false. Raises `BadOption` for any other text."""
    if value not in ("true", "false"):
        raise BadOption(f"Invalid {name}={value!r}. Use true or false.")
    return value == "true"


def _parse_number(name: str, value: str, types: Container[Any]) -> int | float | str:
    for kind, description in ((int, "a whole number"), (float, "a number")):
        if kind in types:
            try:
                return kind(value)
            except ValueError:
                raise BadOption(f"{name}={value!r}: must be {description}.") from None
    return value


_OPTION_NAMES = {"style": "prompt"}
"""Option names of settings whose option is named differently."""
