"""Lessons as tokens: engine prompts, a loss on the reply only, and no truncation."""

from __future__ import annotations

from itertools import islice

import pytest

from gymposium.errors import BadOption
from gymposium.replies.reading import READERS
from gymposium_agents.chat.chat import Chat, Rendering
from gymposium_agents.chat.tokens import Message
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.config import ColdStart
from gymposium_train.learner.protocol import Demonstration, group_conversations
from gymposium_train.run.lessons import (
    ColdStartProgress,
    Lesson,
    compute_cosine_rate,
    exceeds_characters,
    mix_batches,
    tokenize_lessons,
)

ASKED = Lesson(({"role": "user", "content": "x . o"},), "b2")
LATER = Lesson(
    (
        {"role": "user", "content": "x . o"},
        {"role": "assistant", "content": "b2"},
        {"role": "user", "content": "x x o"},
    ),
    "c3",
)


def test_tokens_match_the_chat_with_end_of_turn(tiny: LoadedModel) -> None:
    found = tokenize_lessons([ASKED, LATER], tiny.chat, context=1024, max_tokens=8)
    chat: Chat = tiny.chat
    grown = (*chat.prompt("x . o"), *chat.reply("b2"), *chat.more("x x o", ended=True))
    assert [one[:2] for one in found.demonstrations] == [
        (chat.prompt("x . o"), chat.reply("b2")),
        (grown, chat.reply("c3")),
    ]
    assert all(one.completion[-1] == chat.end for one in found.demonstrations)
    assert (found.too_long, found.cut_off) == (0, 0)


def test_too_long_lessons_are_dropped_and_counted(tiny: LoadedModel) -> None:
    (asked,) = tokenize_lessons([ASKED], tiny.chat, context=1024, max_tokens=8).demonstrations
    context = len(asked.prompt) + len(asked.completion)
    assert tokenize_lessons([ASKED, LATER], tiny.chat, context=context, max_tokens=8).demonstrations == [asked]
    assert tokenize_lessons([ASKED, LATER], tiny.chat, context=context, max_tokens=8).too_long == 1
    with pytest.raises(BadOption, match="No reply of the cold start fits"):
        tokenize_lessons([ASKED], tiny.chat, context=context - 1, max_tokens=8)


def test_huge_lessons_are_dropped_without_tokenizing(tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []
    encode = Chat.ids

    def count(self: Chat, rendering: Rendering) -> tuple[int, ...]:
        encoded.append(len(rendering.text))
        return encode(self, rendering)

    monkeypatch.setattr(Chat, "ids", count)
    content, many = "x" * 100_000, LATER.messages * 1_000
    huge = [
        Lesson(({"role": "system", "content": content}, *ASKED.messages), "b2"),
        Lesson(LATER.messages, content),
        Lesson(many, "b2"),
    ]
    found = tokenize_lessons([*huge, LATER], tiny.chat, context=1024, max_tokens=8)
    assert (found.too_long, len(found.demonstrations), len(encoded)) == (3, 1, 1)


def test_dropped_thoughts_do_not_count_as_characters(tiny: LoadedModel) -> None:
    thought: Message = {"role": "assistant", "content": f"<think>{'x' * 100_000}</think>b2"}
    assert not exceeds_characters(Lesson((*ASKED.messages, thought, *ASKED.messages), "c3"), 1024)


def test_replies_beyond_max_tokens_are_counted(tiny: LoadedModel) -> None:
    reply = tiny.chat.reply("b2")
    assert tokenize_lessons([ASKED], tiny.chat, context=1024, max_tokens=len(reply)).cut_off == 0
    assert tokenize_lessons([ASKED], tiny.chat, context=1024, max_tokens=len(reply) - 1).cut_off == 1


def test_legal_moves_are_learned_only_for_canonical_replies(tiny: LoadedModel) -> None:
    """A reply with thoughts is not in the tree of canonical replies, which would call its first token illegal."""
    asked, tags = ASKED.messages, READERS["tags"]
    lessons = [
        Lesson(asked, "<move>b2</move>", legal=("a1", "b2")),
        Lesson(asked, "I see. <move>b2</move>", legal=("a1", "b2")),
        Lesson(asked, "<move>b2</move>"),
    ]
    found = tokenize_lessons(lessons, tiny.chat, context=1024, max_tokens=64, form=tags)
    canonical, thought, unknown = found.demonstrations
    assert all(token in ids for token, ids in zip(canonical.completion, canonical.legal, strict=True))
    assert thought.legal == unknown.legal == ()
    assert found.unguided == 2


def test_games_have_equal_shares_of_each_batch() -> None:
    lots = [[Demonstration((n,), (n,))] * count for n, count in ((1, 1000), (2, 1), (3, 10))]
    drawn = list(islice(mix_batches(lots, 8, 0), 3))
    assert [len(batch) for batch in drawn] == [8, 8, 8]
    shares = [sum(batch.count(lot[0]) for batch in drawn) for lot in lots]
    assert shares == [8, 8, 8]
    assert drawn == list(islice(mix_batches(lots, 8, 0), 3))


def test_replies_of_a_conversation_are_drawn_together() -> None:
    talk = [Demonstration((1,), (2, 3)), Demonstration((1, 2, 3, 4), (5,)), Demonstration((1, 2, 3, 4, 5, 6), (7,))]
    others = [Demonstration((9, n), (n,)) for n in range(5)]
    assert group_conversations([*talk, *others]) == [talk, *([one] for one in others)]
    for batch in islice(mix_batches([[*talk, *others]], 4, 0), 20):
        assert 4 <= len(batch) <= 6
        assert [one for one in batch if one in talk] == talk * batch.count(talk[0])


def test_learning_rate_rises_and_falls() -> None:
    settings = ColdStart(learning_rate=1.0, warmup=0.1)
    rates = [compute_cosine_rate(i / 100, settings) for i in range(101)]
    assert rates[0] == 0.0
    assert max(rates) == rates[10] == 1.0
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[100] == pytest.approx(0.0)


def test_cold_start_decays_over_a_quarter_of_its_steps() -> None:
    ending = ColdStartProgress(400)
    assert [ending(step) for step in (0, 100, 400)] == [0.0, 0.25, 1.0]
    ending.soon(100)
    ending.soon(110)  # the first one counts
    assert ending.known
    progress = [ending(step) for step in range(100, 126)]
    assert progress[0] == 0.25
    assert progress == sorted(progress)
    assert next(step for step, done in enumerate(progress, 100) if done >= 1.0) == 125
    early = ColdStartProgress(400)
    early.soon(16)
    assert early(31) < 1.0 == early(32)
