"""Files of chats as `gymposium synth` and other trainers write them: JSONL, one conversation a line.

    {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "b2"}, …]}
    {"prompt": [{"role": "user", "content": "…"}], "completion": [{"role": "assistant", "content": "b2"}]}

Of `messages` every reply of the assistant is learnt, with all that stands before it as its prompt; of the second form
the completion alone. Other keys of a line are passed over, as trainers do, but for one: a line that says that it was
made for a model that thinks (or does not) must be asked so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption
from gymposium_agents.tokens import Message
from gymposium_train.cold_start.lessons import Lesson

_ROLES = ("system", "user", "assistant")
_FORMS = 'Write {"messages": [...]} or {"prompt": [...], "completion": [...]}.'


def read_chats(files: Iterable[str | Path], *, thinking: bool) -> list[Lesson]:
    """Every lesson of these files, in order.

    Raises `BadOption`, with file and line, for whatever is not a chat, and for a file without any."""
    found: list[Lesson] = []
    for file in files:
        lessons = list(_file(Path(file), thinking))
        if not lessons:
            raise BadOption(f"{file} holds no chats. {_FORMS}")
        found += lessons
    return found


def _file(file: Path, thinking: bool) -> Iterator[Lesson]:
    try:
        with open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield from _line(line, f"{file}:{number}", thinking)
    except OSError as error:
        raise BadOption(f"{file} cannot be read ({error.strerror}). Name a file that gymposium synth wrote.") from error
    except UnicodeDecodeError as error:
        raise BadOption(f"{file} is not UTF-8 text ({error}).") from error


def _line(line: str, where: str, thinking: bool) -> Iterator[Lesson]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadOption(f"{where}: not JSON ({error}). {_FORMS}") from error
    if not isinstance(data, dict):
        raise BadOption(f"{where}: not an object. {_FORMS}")
    _check_thinking(data, where, thinking)
    if "messages" in data:
        messages, given = _messages(data["messages"], f"{where}: messages"), 0
    elif "prompt" in data and "completion" in data:
        before = _messages(data["prompt"], f"{where}: prompt")
        messages, given = (*before, *_messages(data["completion"], f"{where}: completion")), len(before)
    else:
        raise BadOption(f"{where}: neither messages nor prompt and completion. {_FORMS}")
    learnt = [n for n in range(given, len(messages)) if messages[n]["role"] == "assistant"]
    if not learnt:
        raise BadOption(f"{where}: the assistant says nothing, so there is nothing to learn. Take the line out.")
    for n in learnt:
        if n == 0 or messages[n - 1]["role"] != "user":
            raise BadOption(f"{where}: the assistant speaks without being asked (message {n}). Put the question first.")
        yield Lesson(messages[:n], messages[n]["content"], where)


def _messages(data: Any, where: str) -> tuple[Message, ...]:
    if not isinstance(data, list):
        raise BadOption(f"{where} is no list of messages, but {type(data).__name__}. {_FORMS}")
    return tuple(_message(one, f"{where}, message {number}") for number, one in enumerate(data))


def _message(data: Any, where: str) -> Message:
    if not isinstance(data, dict):
        raise BadOption(f'{where} is not an object. Write {{"role": "user", "content": "…"}}.')
    role, content = data.get("role"), data.get("content")
    if role not in _ROLES:
        raise BadOption(f"{where} has the role {role!r}; known: {', '.join(_ROLES)}.")
    if not isinstance(content, str):
        raise BadOption(f"{where} has content of type {type(content).__name__}; give text.")
    return {"role": role, "content": content}


def _check_thinking(data: Mapping[str, Any], where: str, thinking: bool) -> None:
    """A template shows a model that thinks another prompt, so what was made for one is not learnt by the other."""
    kwargs = data.get("chat_template_kwargs")
    made_for = kwargs.get("enable_thinking") if isinstance(kwargs, dict) else None
    if isinstance(made_for, bool) and made_for != thinking:
        raise BadOption(
            f"{where}: made for a model that is {'' if made_for else 'not '}asked to think (enable_thinking), and this "
            f"run asks it {'' if thinking else 'not '}to. Set asking.thinking = {str(made_for).lower()}, or make the "
            f"data again."
        )
