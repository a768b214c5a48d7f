"""OpenAI-compatible requests for chat completions, read from JSON.

`PARAMETERS` decides what becomes of each field. The run determines how replies are sampled, because its learner needs
their probabilities. Fields that ask for another way are overridden, and each answer lists them. The few fields that
would make the training data wrong are refused.
"""

from __future__ import annotations

import json
import re
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gymposium.http.requests import RequestRefusal
from gymposium.tasks.tools import Call, Tool
from gymposium.util.strict_json import check_depth, parse_strict_json
from gymposium.util.visible import is_encodable
from gymposium_agents.chat.tokens import Message

FieldPolicy = Literal["honored", "overridden", "refused"]
"""What becomes of a field: it has its effect, the run decides instead and the answer says so, or the request fails."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """How a field of requests is treated."""

    policy: FieldPolicy
    neutral: tuple[Any, ...] = ()
    """Values that ask for what the run does anyway. They are accepted and not reported."""
    strict: bool = False
    """Whether strict servers refuse the field instead of overriding it."""
    fix: str = ""
    """Why the field is refused, and what to change."""


HONORED = Parameter("honored")
"""A field that has its effect, or a label, which never affects replies."""
UNKNOWN = Parameter("overridden", strict=True)
"""A field that would change the distribution of replies, or is unknown. The run's own setting holds."""
LABELS: Mapping[str, Parameter] = dict.fromkeys(
    "metadata model prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier service_tier store "
    "user".split(),
    HONORED,
)
"""The labels in OpenAI's protocols."""
PARAMETERS: Mapping[str, Parameter] = {
    **dict.fromkeys(
        "logprobs max_completion_tokens max_tokens messages stop stream stream_options tools".split(), HONORED
    ),
    **LABELS,
    "moderation": Parameter("overridden"),
    "temperature": Parameter("overridden"),
    "seed": Parameter("overridden"),
    "parallel_tool_calls": Parameter("overridden", (True,)),
    "response_format": Parameter("overridden", ({"type": "text"},)),
    "tool_choice": Parameter("overridden", ("auto", "none")),
    "top_p": Parameter("overridden", (1,), strict=True),
    "top_k": Parameter("overridden", (-1, 0), strict=True),
    "min_p": Parameter("overridden", (0,), strict=True),
    "repetition_penalty": Parameter("overridden", (1,), strict=True),
    "frequency_penalty": Parameter("overridden", (0,), strict=True),
    "presence_penalty": Parameter("overridden", (0,), strict=True),
    "top_logprobs": Parameter("overridden", (0,), strict=True),
    **dict.fromkeys("prediction reasoning_effort verbosity web_search_options".split(), UNKNOWN),
    "n": Parameter("refused", (1,), fix="Each request gets one reply. Send several requests."),
    "best_of": Parameter("refused", (1,), fix="Each request gets one reply. Send several requests."),
    "logit_bias": Parameter("refused", ({},), fix="The model would learn from wrong probabilities. Omit it."),
    "modalities": Parameter("refused", (["text"],), fix="Replies are text. Omit it."),
    "audio": Parameter("refused", fix="Replies are text. Omit it."),
    "functions": Parameter("refused", ([],), fix="Give tools instead."),
    "function_call": Parameter("refused", ("auto", "none"), fix="Give tool_choice instead."),
}
"""The fields of a request for a chat completion. Unknown fields are overridden, and refused by strict servers."""
MOST_UNKNOWN = 32
"""Maximum number of unknown fields in a request."""
MOST_TOOLS = 128
"""Maximum number of tools, as in OpenAI's API."""
TOOLS_SECONDS = 10.0
"""Time limit for checking the schemas of a request's tools, in seconds. A request that takes longer is rejected."""
MOST_MESSAGES = 4096
"""Maximum number of messages."""
MOST_STOPS = 16
"""Maximum number of texts in `stop`. OpenAI's API allows 4, and others more."""
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
"""The roles of a request, mapped to those of chat templates."""


_PICTURE = re.compile(r"data:image/(?:png|jpeg);base64,(.+)", re.DOTALL)
"""The URLs of images in requests."""


class BadRequest(RequestRefusal, ValueError):
    """Error for a request that cannot be answered. The message has the field, the reason, and the fix."""

    def __init__(self, field: str, why: str, code: str = "bad_request") -> None:
        super().__init__(400, code, f"{field}: {why}", field)
        self._field, self._why = field, why

    def rename_field(self, names: Mapping[str, str]) -> BadRequest:
        """Return the error of a request that was translated. `names` maps fields to their names in the request,
        including those of fields inside them."""
        field = self._field
        inside = (name for name in names if field == name or field.startswith((f"{name}.", f"{name}[")))
        prefix = max(inside, key=len, default="")
        return BadRequest(names.get(prefix, "") + field[len(prefix) :], self._why, self.code)


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request for one chat completion."""

    messages: tuple[Message, ...]
    """The conversation so far. Tool results are in the order of the calls."""
    tools: tuple[Tool, ...] = ()
    """The tools that the model may call."""
    max_tokens: int | None = None
    """The maximum number of tokens of the reply, or None for the server's default."""
    stop: tuple[str, ...] = ()
    """Texts that end sampling."""
    stream: bool = False
    """Whether the answer comes in chunks, as server-sent events."""
    usage: bool = False
    """Whether the last chunk of a stream contains the token counts."""
    logprobs: bool = False
    """Whether the answer lists the log-probabilities of the reply's tokens."""
    overridden: tuple[str, ...] = ()
    """The fields that the run overrides, for the answer's header."""
    repeated: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the request that the answer repeats, in dialects that do so."""

    @classmethod
    def read(cls, body: Any, *, strict: bool = False) -> CompletionRequest:
        """Read the request in a JSON body. With `strict`, fields that would change the distribution of replies are
        refused, not overridden. Raises `BadRequest` for a missing, invalid or refused field."""
        given = read_body(body, "messages")
        overridden = check_parameters(given, PARAMETERS, strict=strict)
        _check_format(given.get("response_format", {"type": "text"}))
        return cls.build(given, overridden)

    @classmethod
    def build(cls, given: Mapping[str, Any], overridden: tuple[str, ...]) -> CompletionRequest:
        """Build the request from the honored fields, whose policies are checked. Raises `BadRequest` for a missing or
        invalid field."""
        limits = [_read_count(name, given[name]) for name in ("max_tokens", "max_completion_tokens") if name in given]
        options = given.get("stream_options", {})
        if not isinstance(options, Mapping):
            raise BadRequest(
                "stream_options", f'give an object, such as {{"include_usage": true}}, not {format_value(options)}.'
            )
        given_tools = read_list("tools", given.get("tools", []))
        if len(given_tools) > MOST_TOOLS:
            raise BadRequest("tools", f"{len(given_tools)} are too many. Give at most {MOST_TOOLS}.")
        tools = tuple(_read_tools(given_tools))
        if repeated := [name for name, times in Counter(tool.name for tool in tools).items() if times > 1]:
            raise BadRequest("tools", f"duplicate tool {', '.join(sorted(repeated))}. Give each tool once.")
        if any(tool["function"].get("strict") for tool in given_tools):
            overridden += ("tools.strict",)
        return cls(
            messages=_read_messages(read_list("messages", given.get("messages"))),
            tools=tools if _allows_calls(given.get("tool_choice", "auto")) else (),
            max_tokens=min(limits, default=None),
            stop=_read_stops(given.get("stop", [])),
            stream=_read_flag("stream", given.get("stream", False)),
            usage=_read_flag("stream_options.include_usage", options.get("include_usage", False)),
            logprobs=_read_flag("logprobs", given.get("logprobs", False)),
            overridden=overridden,
        )


def read_body(body: Any, example: str) -> dict[str, Any]:
    """Return the fields of a body that are not null. Raises `BadRequest` if it is no object. `example` is a field that
    it must have."""
    if not isinstance(body, Mapping):
        raise BadRequest("body", f"give a JSON object with the field {example}, not {format_value(body)}.")
    return {name: value for name, value in body.items() if value is not None}


def check_parameters(given: Mapping[str, Any], parameters: Mapping[str, Parameter], *, strict: bool) -> tuple[str, ...]:
    """Return the fields of a request that the run overrides. Raises `BadRequest` for a refused field, and for text that
    is not Unicode."""
    overridden = []
    for name, value in given.items():
        if re.fullmatch(r"[\w.-]{1,64}", name, re.ASCII) is None:
            raise BadRequest("body", f"{ascii(name)[:80]} is not the name of a field. Omit it.")
        check_unicode(name, value)
        parameter = parameters.get(name, UNKNOWN)
        if parameter.policy == "honored" or _is_neutral(value, parameter):
            continue
        if parameter.policy == "refused":
            raise BadRequest(name, f"{format_value(value)} is not supported. {parameter.fix}")
        if strict and parameter.strict:
            only = " or ".join(map(str, parameter.neutral))
            fix = f"Leave it at {only}." if only else "Omit it."
            raise BadRequest(
                name, f"{format_value(value)} would change the replies, which this strict server refuses. {fix}"
            )
        overridden.append(name)
    if sum(name not in parameters for name in overridden) > MOST_UNKNOWN:
        raise BadRequest("body", f"more than {MOST_UNKNOWN} fields are unknown. Omit them.")
    return tuple(overridden)


def _is_neutral(value: Any, parameter: Parameter) -> bool:
    """Return whether a value asks for what the run does anyway. In JSON, unlike in Python, `true` is not 1."""
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in parameter.neutral)


def _check_format(given: Any) -> None:
    """Raise `BadRequest` for an unknown format of replies."""
    match given:
        case {"type": "text" | "json_object" | "json_schema"}:
            return
    raise BadRequest(
        "response_format",
        f"{format_value(given)} is not supported. Give the type text, json_object or json_schema.",
    )


def _allows_calls(given: Any) -> bool:
    """Return whether a `tool_choice` offers the tools to the model. Raises `BadRequest` for an unknown choice."""
    match given:
        case "none":
            return False
        case "auto" | "required" | {"type": "function", "function": {"name": str()}} | {"type": "allowed_tools"}:
            return True
    raise BadRequest(
        "tool_choice",
        f"{format_value(given)} is not supported. Give none, auto, required, or one function of the tools.",
    )


def _read_messages(given: Sequence[Any]) -> tuple[Message, ...]:
    """Return the messages, with tool results in the order of the calls."""
    if not given:
        raise BadRequest("messages", "the list is empty. Give at least one user message.")
    if len(given) > MOST_MESSAGES:
        raise BadRequest("messages", f"{len(given)} are too many. Give at most {MOST_MESSAGES}.")
    messages: list[Message] = []
    waiting: list[str] = []
    """The ids of calls without a result."""
    results: dict[str, Message] = {}
    for number, one in enumerate(given):
        where = f"messages[{number}]"
        if not isinstance(one, Mapping) or not any(one.get("role") == role for role in _ROLES):
            raise BadRequest(where, f"give an object with a role ({', '.join(_ROLES)}), not {format_value(one)}.")
        role = _ROLES[one["role"]]
        message = _read_content(role, f"{where}.content", one.get("content"))
        if role == "tool":
            name = one.get("tool_call_id")
            unanswered = [one for one in waiting if one not in results]
            if name not in unanswered:
                raise BadRequest(
                    f"{where}.tool_call_id",
                    f"{format_value(name)} is not the id of an unanswered call. Waiting: "
                    f"{', '.join(unanswered) or 'none'}.",
                )
            results[name] = message
            if len(results) == len(waiting):
                messages += (results[name] for name in waiting)
                waiting, results = [], {}
            continue
        if waiting:
            missing = ", ".join(name for name in waiting if name not in results)
            raise BadRequest(
                where, f"the results of earlier calls must come first: {missing}. Insert them before this message."
            )
        if role == "assistant" and (made := read_list(f"{where}.tool_calls", one.get("tool_calls") or [])):
            if len(made) > MOST_MESSAGES:
                why = f"{len(made)} are too many, because each needs a message. Give at most {MOST_MESSAGES}."
                raise BadRequest(f"{where}.tool_calls", why)
            calls = [_read_call(f"{where}.tool_calls[{n}]", call) for n, call in enumerate(made)]
            waiting = [name for name, _ in calls]
            if len(set(waiting)) < len(waiting):
                raise BadRequest(f"{where}.tool_calls", "two calls have the same id. Use unique ids.")
            message["tool_calls"] = tuple(call for _, call in calls)
        messages.append(message)
    if waiting:
        raise BadRequest(
            "messages",
            f"the results of these calls are missing: {', '.join(waiting)}. Append one result for each.",
        )
    if messages[-1]["role"] == "assistant":
        raise BadRequest(
            "messages", "the last message is a reply. Append a user message or tool result for the model to answer."
        )
    return tuple(messages)


def _read_content(role: str, where: str, content: Any) -> Message:
    """Return a message with a content: a string, or a list of text parts and, in a user's message, pictures."""
    text, pictures = "", list[tuple[int, bytes]]()
    match content:
        case None | str():
            return {"role": role, "content": content or ""}
        case list():
            for number, part in enumerate(content):
                match part:
                    case {"type": "text", "text": str(more)}:
                        text += more
                    case {"type": "image_url", "image_url": {"url": url}} if role == "user":
                        pictures.append((len(text), _read_picture(f"{where}[{number}]", url)))
                    case _:
                        break
            else:
                message: Message = {"role": role, "content": text}
                return {**message, "pictures": tuple(pictures)} if pictures else message
    raise BadRequest(
        where,
        f"{format_value(content)} is not text or a list of text parts. Sound and files are not supported, and images "
        f"only in messages of the user. Give text.",
    )


def _read_picture(where: str, url: Any) -> bytes:
    """Return the file in a data URL. Nothing else is opened or fetched."""
    found = _PICTURE.fullmatch(url) if isinstance(url, str) else None
    if found is None:
        form = "data:image/png;base64,…"
        raise BadRequest(where, f"give a PNG or JPEG file as a data URL ({form}), not {format_value(url)}.")
    try:
        return b64decode(found[1], validate=True)
    except ValueError as error:
        raise BadRequest(where, f"the image is not valid base64 ({error}). Encode the whole file.") from None


def _read_call(where: str, given: Any) -> tuple[str, Call]:
    """Return the id of a call, and the call."""
    match given:
        case {"id": str(name), "function": {"name": str(tool), "arguments": str(arguments)}}:
            try:
                values = parse_strict_json(arguments or "{}", any_integer=True)
                check_depth(values)
            except ValueError as error:
                raise BadRequest(
                    f"{where}.function.arguments", f"invalid JSON ({error}). Send a JSON object as text."
                ) from None
            check_unicode(f"{where}.function.arguments", values)
            if isinstance(values, dict):
                return name, Call(tool, values)
            raise BadRequest(
                f"{where}.function.arguments",
                f'give a JSON object as text, such as "{{}}", not {format_value(arguments)}.',
            )
    raise BadRequest(
        where,
        f'give {{"id": "…", "type": "function", "function": {{"name": "…", "arguments": "{{…}}"}}}}, not '
        f"{format_value(given)}.",
    )


def _read_tools(given: Sequence[Any]) -> Iterator[Tool]:
    """Yield the tools, with validated schemas. Raises `BadRequest` for an invalid tool, and if all checks together take
    too long."""
    begun = time.monotonic()
    for number, one in enumerate(given):
        where = f"tools[{number}]"
        tool = _read_tool(where, one)
        if time.monotonic() - begun > TOOLS_SECONDS:
            why = f"the schemas up to that of {tool.name} take more than {TOOLS_SECONDS:g} s to check. Simplify them."
            raise BadRequest("tools", why)
        try:
            tool.schema.check()
        except ValueError as error:
            why = f"the schema of {tool.name} is invalid: {str(error).rstrip('.')}."
            raise BadRequest(f"{where}.function.parameters", why) from None
        yield tool


def _read_tool(where: str, given: Any) -> Tool:
    match given:
        case {"type": "function", "function": {"name": str(name)} as function}:
            description, parameters = function.get("description") or "", function.get("parameters")
            if parameters is None:
                parameters = {"type": "object", "properties": {}}
            if isinstance(description, str) and isinstance(parameters, Mapping):
                try:
                    return Tool(name, description, parameters)
                except ValueError as error:
                    raise BadRequest(f"{where}.function", f"{error}.") from None
    raise BadRequest(
        where,
        f'give {{"type": "function", "function": {{"name": "…", "parameters": {{…}}}}}}, not {format_value(given)}.',
    )


def _read_stops(given: Any) -> tuple[str, ...]:
    stops = (given,) if isinstance(given, str) else tuple(read_list("stop", given))
    if len(stops) > MOST_STOPS or not all(isinstance(stop, str) and stop for stop in stops):
        raise BadRequest(
            "stop", f"give text or a list of at most {MOST_STOPS} nonempty texts, not {format_value(given)}."
        )
    return stops


def check_unicode(where: str, value: Any) -> None:
    """Raise `BadRequest` for a value with a lone surrogate, because tokenizers cannot read it."""
    if not is_encodable(json.dumps(value, ensure_ascii=False)):
        raise BadRequest(where, "the text contains half of a surrogate pair. Send valid Unicode.")


def read_list(where: str, given: Any) -> Sequence[Any]:
    if not isinstance(given, list):
        raise BadRequest(where, f"give a list, not {format_value(given)}.")
    return given


def _read_count(where: str, given: Any) -> int:
    if type(given) is not int or given < 1:
        raise BadRequest(where, f"{format_value(given)} is not a positive whole number. Give 1 or more.")
    return given


def _read_flag(where: str, given: Any) -> bool:
    if not isinstance(given, bool):
        raise BadRequest(where, f"{format_value(given)} is invalid. Give true or false.")
    return given


def format_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
