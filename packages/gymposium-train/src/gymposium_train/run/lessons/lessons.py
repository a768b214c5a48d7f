"""Lessons for imitation: replies with their preceding conversations, as text and as tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from gymposium.errors import BadOption, GymposiumError
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks.tools import Call, Tool
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.messages import CHARACTERS_PER_TOKEN, count_characters
from gymposium_agents.chat.tokens import Message, Tokens
from gymposium_agents.players.distribution import find_continuations, split_probabilities
from gymposium_train.learner.protocol import Demonstration

_BARE = READERS["move"]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One reply to imitate, with the preceding conversation."""

    messages: tuple[Message, ...]
    """The messages before the reply."""
    reply: str
    """The reply's text, without its `calls`."""
    where: str = ""
    """File and line of the lesson, for errors. Empty if it comes from a match."""
    legal: tuple[str, ...] | None = None
    """The legal moves at the reply, or None for free-text moves and files from other sources."""
    taught: tuple[float, ...] = ()
    """A teacher's probabilities of the legal moves. Empty without a teacher. The reply's move has been drawn from
    them."""
    calls: tuple[Call, ...] = ()
    """The calls of the reply, written by the chat template."""
    tools: tuple[Tool, ...] = ()
    """The tools listed by the chat template."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """Lessons as tokens, with counts of lessons with problems."""

    demonstrations: list[Demonstration]
    """The prompts and replies. Each reply includes its end of turn."""
    too_long: int
    """Number of lessons left out because they do not fit into the model's context. Lessons are never cut."""
    cut_off: int
    """Number of demonstrations whose reply exceeds the limit on replies in play."""
    unguided: int
    """Number of demonstrations that do not teach the model what is legal. Their legal moves are unknown, or their reply
    is not the canonical form of a legal move."""

    def count(self) -> dict[str, int]:
        """Return the numbers of demonstrations, of lessons left out, and of demonstrations with a problem."""
        return {
            "replies": len(self.demonstrations),
            "too_long": self.too_long,
            "cut_off": self.cut_off,
            "unguided": self.unguided,
        }


def list_texts(lessons: Iterable[Lesson]) -> Iterator[str]:
    """Yield all texts of the lessons, for training a tokenizer."""
    for lesson in lessons:
        yield from (message["content"] for message in lesson.messages)
        yield lesson.reply


def list_moves(lessons: Iterable[Lesson]) -> Iterator[str]:
    """Yield all legal moves of the lessons. A move occurs as often as it was legal."""
    for lesson in lessons:
        yield from lesson.legal or ()


def tokenize_lessons(
    lessons: Sequence[Lesson], chat: Chat, *, context: int, max_tokens: int, form: Reader = _BARE
) -> Lessons:
    """Tokenize lessons with the model's chat template. `context` limits the tokens of a prompt and its reply together,
    and `max_tokens` those of a reply in play. `form` is the form of the replies.

    Raises `BadOption` with file and line if the chat template rejects a conversation or calls, and for a reply that its
    teacher never gives. Also raises it if all lessons are too long."""
    tokens_of_reply = cache(chat.reply)
    demonstrations: list[Demonstration] = []
    too_long = cut_off = unguided = 0
    for lesson in lessons:
        if exceeds_characters(lesson, context):
            too_long += 1
            continue
        prompt = encode_prompt(lesson, chat)
        reply = _encode_reply(lesson, chat) if lesson.calls else tokens_of_reply(lesson.reply)
        if len(prompt) + len(reply) > context:
            too_long += 1
            continue
        cut_off += len(reply) > max_tokens
        legal = [tokens_of_reply(form.answer(move)) for move in lesson.legal or ()]
        # else the tree of legal replies does not cover this one, for example because it has thoughts
        guided = reply in legal
        unguided += not guided
        continued = find_continuations(legal, reply) if guided else ()
        odds = dict(zip(legal, lesson.taught, strict=True)) if guided and lesson.taught else {}
        if odds.get(reply) == 0.0:
            raise BadOption(f"{lesson.where}: the teacher's probability of the reply {lesson.reply!r} is 0.")
        taught = split_probabilities(odds, reply) if odds else ()
        demonstrations.append(Demonstration(prompt, reply, continued, taught))
    if lessons and not demonstrations:
        raise BadOption(
            f"No reply of the cold start fits (of {len(lessons)}): with their prompts, they exceed the model's "
            f"context of {context} tokens. Use a shorter prompting.context or prompting.prompt, or a model with a "
            f"longer context."
        )
    return Lessons(demonstrations, too_long, cut_off, unguided)


def exceeds_characters(lesson: Lesson, context: int) -> bool:
    """Return True if a lesson has too many messages or characters for `context` tokens, without tokenizing it. Past
    thoughts do not count, because many chat templates drop them."""
    if len(lesson.messages) > context:
        return True
    past = (message["content"] for message in lesson.messages if message["role"] == "assistant")
    thoughts = sum(len(content.rpartition("</think>")[0]) for content in past)
    characters = count_characters(lesson.messages, lesson.tools) - thoughts + len(lesson.reply)
    return characters > CHARACTERS_PER_TOKEN * context


def encode_prompt(lesson: Lesson, chat: Chat) -> Tokens:
    """Return the tokens of the conversation before a lesson's reply. Raises `BadOption` with file and line if the chat
    template rejects the conversation."""
    with _locate_errors(lesson):
        first = lesson.messages[0]
        if len(lesson.messages) == 1 and first["role"] == "user" and "pictures" not in first:
            return chat.prompt(first["content"], lesson.tools)  # cached, because many prompts begin alike
        return chat.conversation(lesson.messages, lesson.tools)


def _encode_reply(lesson: Lesson, chat: Chat) -> Tokens:
    """Return the tokens of a reply with calls. Raises `BadOption` with file and line for calls that cannot be
    written."""
    with _locate_errors(lesson):
        return chat.reply(lesson.reply, lesson.calls)


@contextmanager
def _locate_errors(lesson: Lesson) -> Iterator[None]:
    """Convert errors from the chat to `BadOption` with the lesson's file and line."""
    try:
        yield
    except GymposiumError as error:
        raise BadOption(f"{lesson.where}: {error}" if lesson.where else str(error)) from error
