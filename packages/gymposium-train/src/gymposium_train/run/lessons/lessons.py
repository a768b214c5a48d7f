"""Lessons for imitation: replies with the conversations before them, as text and as tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from gymposium.errors import BadOption, GymposiumError
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks.tools import Call, Tool
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import Message, Tokens
from gymposium_agents.players.distribution import continuations
from gymposium_train.learner.protocol import Demonstration

_BARE = READERS["move"]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One reply to imitate, with the conversation before it."""

    messages: tuple[Message, ...]
    """The messages before the reply."""
    reply: str
    """The reply; without its calls, if it has `calls`."""
    where: str = ""
    """File and line of the lesson, for errors; empty if it comes from a match."""
    legal: tuple[str, ...] | None = None
    """The legal moves where the reply was given; None for moves in free text, and in files of other origin."""
    calls: tuple[Call, ...] = ()
    """The calls of the reply, which the chat template writes."""
    tools: tuple[Tool, ...] = ()
    """The tools that the chat template lists."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """Lessons as tokens, with counts of long ones."""

    demonstrations: list[Demonstration]
    """The prompts and replies; a reply has its end of turn."""
    too_long: int
    """Number of lessons left out because they do not fit into the model's context. Lessons are never cut."""
    cut_off: int
    """Number of demonstrations whose reply is longer than the model's replies may be when it plays."""
    unguided: int
    """Number of demonstrations from which the model does not learn what is legal: their legal moves are unknown, or
    their reply is not the canonical one of a legal move in the form of replies."""


def texts_of(lessons: Iterable[Lesson]) -> Iterator[str]:
    """Yield all texts of the lessons, to train a tokenizer on."""
    for lesson in lessons:
        yield from (message["content"] for message in lesson.messages)
        yield lesson.reply


def moves_of(lessons: Iterable[Lesson]) -> Iterator[str]:
    """Yield all legal moves of the lessons, each as often as it was legal."""
    for lesson in lessons:
        yield from lesson.legal or ()


def tokenized(lessons: Sequence[Lesson], chat: Chat, *, room: int, max_tokens: int, form: Reader = _BARE) -> Lessons:
    """Tokenize lessons by the model's chat template. `room` is the largest number of tokens of a prompt and its reply
    together, `max_tokens` that of a reply when the model plays, and `form` the form of the replies.

    Raises `BadOption`, with file and line, for a conversation or calls that the chat template refuses, and if all
    lessons are too long."""
    tokens_of_reply = cache(chat.reply)
    demonstrations: list[Demonstration] = []
    too_long = cut_off = unguided = 0
    for lesson in lessons:
        prompt = prompt_of(lesson, chat)
        reply = _reply_of(lesson, chat) if lesson.calls else tokens_of_reply(lesson.reply)
        if len(prompt) + len(reply) > room:
            too_long += 1
            continue
        cut_off += len(reply) > max_tokens
        legal = [tokens_of_reply(form.answer(move)) for move in lesson.legal or ()]
        guided = reply in legal  # else the tree of legal replies says nothing about this one, which may have thoughts
        unguided += not guided
        demonstrations.append(Demonstration(prompt, reply, continuations(legal, reply) if guided else ()))
    if lessons and not demonstrations:
        raise BadOption(
            f"All {len(lessons)} replies of the cold start are too long: with their prompts they have more than the "
            f"{room} tokens that the model reads. Take a shorter prompting.context or prompting.prompt, or a model "
            f"with a longer context."
        )
    return Lessons(demonstrations, too_long, cut_off, unguided)


def prompt_of(lesson: Lesson, chat: Chat) -> Tokens:
    """The tokens of the conversation before a lesson's reply. Raises `BadOption`, with file and line, for a
    conversation that the chat template refuses."""
    with _refused_at(lesson):
        if len(lesson.messages) == 1 and lesson.messages[0]["role"] == "user":
            return chat.prompt(lesson.messages[0]["content"], lesson.tools)  # cached, because many prompts begin alike
        return chat.conversation(lesson.messages, lesson.tools)


def _reply_of(lesson: Lesson, chat: Chat) -> Tokens:
    """The tokens of a reply with calls. Raises `BadOption`, with file and line, for calls that cannot be written."""
    with _refused_at(lesson):
        return chat.reply(lesson.reply, lesson.calls)


@contextmanager
def _refused_at(lesson: Lesson) -> Iterator[None]:
    """Turn what the chat raises into `BadOption` with the lesson's file and line."""
    try:
        yield
    except GymposiumError as error:
        raise BadOption(f"{lesson.where}: {error}" if lesson.where else str(error)) from error
