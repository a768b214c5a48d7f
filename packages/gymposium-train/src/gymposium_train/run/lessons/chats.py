"""Reader of chat files in the format of `gymposium synth` and other trainers: JSONL with one conversation per line.

    {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "b2"}, …]}
    {"prompt": [{"role": "user", "content": "…"}], "completion": [{"role": "assistant", "content": "b2"}]}

A line may name `tools`, which the model's chat template then lists. A reply may have `tool_calls`. Messages with the
role `tool` follow it with their results.

In `messages`, every assistant reply is a lesson, and the messages before it are its prompt. In the second form, only
the completion is a lesson. Other keys are ignored, as in other trainers, with two exceptions. First, a line made for a
thinking model (`chat_template_kwargs`) is rejected if this run does not ask for thoughts, and vice versa. Second, a
line from `gymposium synth` (`gymposium`) names its game, which the run must learn. It also lists the legal moves of
each reply, which teach the model what is legal. With a teacher, it also lists the teacher's probabilities of these
moves, which the model then imitates.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, describe_cause
from gymposium.players.distribution import is_distribution
from gymposium.tasks.tools import Call, Tool
from gymposium.util.plain_file import read_lines
from gymposium.util.strict_json import check_depth, parse_strict_json
from gymposium.util.visible import is_encodable
from gymposium_agents.chat.tokens import Message
from gymposium_agents.players.synth import DATA, LEGAL, TAUGHT
from gymposium_train.run.lessons.lessons import Lesson

_MOST_MESSAGES = 4096
"""Maximum number of messages per line. Each reply is a lesson with all messages before it."""
_ROLES = ("system", "user", "assistant", "tool")
_FORMS = 'Write {"messages": [...]} or {"prompt": [...], "completion": [...]}.'


def read_chats(files: Iterable[str | Path], *, thinking: bool, games: Collection[str] = ()) -> list[Lesson]:
    """Return all lessons of these files, in order. `thinking` says whether the model is asked to think. `games` are the
    games to learn, or () if lines of all games may be imitated.

    Raises `BadOption` with file and line for an invalid chat or one of another game, and for a file without chats."""
    lessons: list[Lesson] = []
    for file in files:
        in_file = list(_read_file(Path(file), thinking, games))
        if not in_file:
            raise BadOption(f"{file} has no chats. {_FORMS}")
        lessons += in_file
    return lessons


def _read_file(file: Path, thinking: bool, games: Collection[str]) -> Iterator[Lesson]:
    try:
        for number, line in enumerate(read_lines(file), start=1):
            if line.strip():
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                yield from read_line(text, f"{file}:{number}", thinking, games)
    except OSError as error:
        raise BadOption(
            f"Cannot read {file} ({describe_cause(error)}). Name a file written by gymposium synth."
        ) from error
    except UnicodeDecodeError as error:
        raise BadOption(f"{file} is not UTF-8 text ({error}). Save it as UTF-8.") from error


def read_line(line: str, where: str, thinking: bool, games: Collection[str]) -> Iterator[Lesson]:
    """Yield the lessons of one chat. `where` is its file and line, and `games` as in `read_chats`. Raises `BadOption`
    for an invalid chat or one of another game."""
    try:
        data = parse_strict_json(line, any_integer=True)
        check_depth(data)  # chat templates and json recurse
    except ValueError as error:
        raise BadOption(f"{where}: invalid JSON ({error}). {_FORMS}") from error
    if not isinstance(data, dict):
        raise BadOption(f"{where}: not a JSON object. {_FORMS}")
    if "\\u" in line and not is_encodable(json.dumps(data, ensure_ascii=False)):
        raise BadOption(f"{where}: a text has a lone surrogate, which is not a character. Remove it.")
    _check_thinking(data, where, thinking)
    _check_game(data, where, games)
    tools = _parse_tools(data.get("tools"), where)
    if "messages" in data:
        messages, start = _parse_messages(data["messages"], f"{where}: messages"), 0
    elif "prompt" in data and "completion" in data:
        before = _parse_messages(data["prompt"], f"{where}: prompt")
        messages, start = (*before, *_parse_messages(data["completion"], f"{where}: completion")), len(before)
    else:
        raise BadOption(f"{where}: has neither messages nor prompt and completion. {_FORMS}")
    replies = [n for n in range(start, len(messages)) if messages[n]["role"] == "assistant"]
    legal = _parse_legal_moves(data, len(replies), where)
    if not replies:
        raise BadOption(f"{where}: the assistant's reply is missing or empty. Remove the line.")
    taught = _parse_taught(data, legal, where)
    for n, moves, odds in zip(replies, legal, taught, strict=True):
        if n == 0 or messages[n - 1]["role"] not in ("user", "tool"):
            raise BadOption(f"{where}: message {n} is an assistant reply without a prompt. Put the question first.")
        calls = tuple(messages[n].get("tool_calls", ()))
        reply = messages[n]["content"]
        yield Lesson(messages[:n], reply, where, legal=moves, taught=odds, calls=calls, tools=tools)


def _parse_messages(data: Any, where: str) -> tuple[Message, ...]:
    if not isinstance(data, list):
        raise BadOption(f"{where} must be a list of messages, not {type(data).__name__}. {_FORMS}")
    if len(data) > _MOST_MESSAGES:
        raise BadOption(f"{where} has {len(data):,} messages, more than {_MOST_MESSAGES:,}. Split the conversation.")
    return tuple(_parse_message(message, f"{where}, message {number}") for number, message in enumerate(data))


def _parse_message(data: Any, where: str) -> Message:
    if not isinstance(data, dict):
        raise BadOption(f'{where} is not an object. Write {{"role": "user", "content": "…"}}.')
    role, content, calls = data.get("role"), data.get("content"), _parse_calls(data.get("tool_calls"), where)
    if role not in _ROLES:
        raise BadOption(f"{where} has the unknown role {role!r}. Use one of: {', '.join(_ROLES)}.")
    if content is None and calls:
        content = ""
    if not isinstance(content, str):
        raise BadOption(f"{where} has content of type {type(content).__name__}. Use text.")
    message: Message = {"role": role, "content": content}
    if calls and role != "assistant":
        raise BadOption(f"{where} has the role {role!r} and tool calls, but only the assistant may call tools.")
    return {**message, "tool_calls": calls} if calls else message


def _parse_calls(data: Any, where: str) -> tuple[Call, ...]:
    """Return the calls of a message, if any."""
    try:
        return tuple(Call.parse(one["function"]) for one in data or ())
    except (TypeError, KeyError, ValueError) as error:
        raise BadOption(
            f'{where}: tool_calls must be a list of {{"type": "function", "function": {{"name": "…", "arguments": '
            f"{{…}}}}}}, with the arguments as an object ({error})."
        ) from error


def _parse_tools(data: Any, where: str) -> tuple[Tool, ...]:
    """Return the tools of a line, if any."""
    try:
        functions = [one["function"] for one in data or ()]
        return tuple(Tool(one["name"], one["description"], one["parameters"]) for one in functions)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise BadOption(
            f'{where}: tools must be a list of {{"type": "function", "function": {{"name": "…", "description": "…", '
            f'"parameters": {{…}}}}}} ({error}).'
        ) from error


def _parse_legal_moves(data: Mapping[str, Any], replies: int, where: str) -> list[tuple[str, ...] | None]:
    """Return the legal moves of each reply of a line, or None for free-text moves and lines from other sources. Raises
    `BadOption` if a line from `gymposium synth` lacks them, and for anything but lists of moves."""
    origin = data.get(DATA)
    if not isinstance(origin, dict):
        return [None] * replies
    if LEGAL not in origin:
        raise BadOption(
            f"{where}: the line lists no legal moves, so it cannot teach the model what is legal. Move the file away "
            f"and regenerate it from its matches: gymposium synth --resume DIR"
        )
    found = [origin[LEGAL]] if "messages" not in data else origin[LEGAL]
    if not isinstance(found, list) or len(found) != replies or not all(map(_is_moves, found)):
        raise BadOption(
            f"{where}: {DATA}.{LEGAL} must list the legal moves of {'the reply' if replies == 1 else 'each reply'}, or "
            f"be null for free text."
        )
    return [None if moves is None else tuple(moves) for moves in found]


def _parse_taught(
    data: Mapping[str, Any], legal: Sequence[tuple[str, ...] | None], where: str
) -> list[tuple[float, ...]]:
    """Return a teacher's probabilities of each reply's legal moves, or () for lines without a teacher. Raises
    `BadOption` for anything but one probability for each legal move of a single reply."""
    origin = data.get(DATA)
    if not isinstance(origin, dict) or TAUGHT not in origin:
        return [()] * len(legal)
    found, moves = origin[TAUGHT], legal[0] if len(legal) == 1 else None
    listed = isinstance(found, list) and all(type(one) in (int, float) for one in found)
    if moves is None or not (listed and is_distribution(found)) or len(found) != len(moves):
        raise BadOption(f"{where}: {DATA}.{TAUGHT} must list a probability for each legal move of a single reply.")
    return [tuple(found)]


def _is_moves(data: Any) -> bool:
    return data is None or (isinstance(data, list) and all(isinstance(move, str) for move in data))


def _check_game(data: Mapping[str, Any], where: str, games: Collection[str]) -> None:
    """Raise `BadOption` if a line from `gymposium synth` is of none of these games, whatever their parameters."""
    origin = data.get(DATA)
    game = origin.get("game") if isinstance(origin, dict) else None
    if games and isinstance(game, str) and _drop_parameters(game) not in map(_drop_parameters, games):
        raise BadOption(
            f"{where}: from a match of {game}, but this run learns {', '.join(games)}. Remove the line, or add the "
            f"game."
        )


def _drop_parameters(game: str) -> str:
    return game.partition("(")[0]


def _check_thinking(data: Mapping[str, Any], where: str, thinking: bool) -> None:
    """Raise `BadOption` if the line was made for the other setting of `thinking`, because the template's prompts
    differ."""
    kwargs = data.get("chat_template_kwargs")
    made_for = kwargs.get("enable_thinking") if isinstance(kwargs, dict) else None
    if isinstance(made_for, bool) and made_for != thinking:
        raise BadOption(
            f"{where}: made for a model that is {'' if made_for else 'not '}asked to think (enable_thinking), but "
            f"this run does {'' if thinking else 'not '}ask it to. Set prompting.thinking = {str(made_for).lower()}, "
            f"or regenerate the data."
        )
