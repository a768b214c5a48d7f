"""What is imitated: replies, each with the conversation that it was given to, as text and as tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gymposium.errors import BadOption, GymposiumError
from gymposium_agents.chat import Chat
from gymposium_agents.forward import Tokens
from gymposium_agents.tokens import Message

Pair = tuple[Tokens, Tokens]
"""Ids of a prompt and of the reply to it, end of turn included. The loss is on the reply's tokens alone."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One reply to imitate, with its conversation."""

    messages: tuple[Message, ...]
    """The messages before the reply."""
    reply: str
    where: str = ""
    """The file and line that it stands in, for errors; empty for what was played."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """Lessons as tokens."""

    pairs: list[Pair]
    too_long: int
    """Lessons left out since the model cannot read so many tokens: what is cut is never imitated."""
    cut_off: int
    """Replies, of those that are kept, that are longer than any that the model may give when it plays."""


def texts_of(lessons: Iterable[Lesson]) -> Iterator[str]:
    """All texts of the lessons, to train a tokenizer on."""
    for lesson in lessons:
        yield from (message["content"] for message in lesson.messages)
        yield lesson.reply


def tokenized(lessons: Sequence[Lesson], chat: Chat, *, room: int, max_tokens: int) -> Lessons:
    """Lessons as tokens, by the model's own chat template. `room` is how many tokens the model reads, prompt and reply
    together; `max_tokens` how long its replies may be when it plays.

    Raises `BadOption`, with file and line, for a conversation that the chat template refuses, and where every lesson is
    too long."""
    replies: dict[str, Tokens] = {}
    pairs: list[Pair] = []
    too_long = cut_off = 0
    for lesson in lessons:
        reply = replies.get(lesson.reply)
        if reply is None:
            reply = replies[lesson.reply] = chat.reply(lesson.reply)
        prompt = _prompt(lesson, chat)
        if len(prompt) + len(reply) > room:
            too_long += 1
            continue
        cut_off += len(reply) > max_tokens
        pairs.append((prompt, reply))
    if lessons and not pairs:
        raise BadOption(
            f"All {len(lessons)} replies of the cold start are too long: with what stands before them they fill more "
            f"than the {room} tokens that the model reads. Take a shorter asking.context or asking.prompt, or a model "
            f"that reads more."
        )
    return Lessons(pairs, too_long, cut_off)


def _prompt(lesson: Lesson, chat: Chat) -> Tokens:
    if len(lesson.messages) == 1 and lesson.messages[0]["role"] == "user":
        return chat.prompt(lesson.messages[0]["content"])  # cached: many begin alike
    try:
        return chat.conversation(lesson.messages)
    except GymposiumError as error:
        raise BadOption(f"{lesson.where}: {error}" if lesson.where else str(error)) from error
