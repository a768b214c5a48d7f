"""`history="kept"`: a conversation only grows, whatever the chat template makes of past turns."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from transformers import PreTrainedTokenizerFast

from gymposium.errors import GymposiumError
from gymposium.tasks.tools import Call
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.rows import make_token_rows
from gymposium_agents.chat.tokens import Completion, Message, Policy, TurnTokens

from .talking import result, says, tool, user

FAMILIES = [
    ("qwen2.5", False), ("qwen3", False), ("qwen3", True), ("qwen3-2507", False), ("qwen3-coder", False),
    ("llama3", False), ("smollm2", False), ("gemma", False),
]  # fmt: skip
TURNS = 20
Make = Callable[[str], PreTrainedTokenizerFast]


def strip_thoughts(text: str) -> str:
    """The text of a prompt without thoughts and white space."""
    return "".join(re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL).split())


@pytest.mark.parametrize(("family", "thinking"), FAMILIES)
def test_twenty_turns_make_one_row(family_tokenizer: Make, family: str, thinking: bool) -> None:
    tokenizer = family_tokenizer(family)
    kept, rewritten = (Chat(tokenizer, thinking=thinking, history=history) for history in ("kept", "template"))
    messages: list[Message] = [user("rules, x to move")]
    prompt, turns = kept.prompt("rules, x to move"), list[TurnTokens]()
    assert prompt == rewritten.prompt("rules, x to move")
    opened = kept.opened or "<think>\n"
    for n in range(TURNS):
        said = f"{opened}b{n} is best\n</think>\n\nb{n}"
        ids = kept.reply(said)
        turns.append(TurnTokens(prompt, Completion(ids, (-1.0,) * len(ids), "stop", Policy("base"))))
        messages += [says(said), user(f"o at c{n}")]
        prompt = (*prompt, *ids, *kept.more(f"o at c{n}", ended=True))
        assert kept.conversation(messages) == prompt
    (row,) = make_token_rows(turns)
    assert sum(row.mask) == sum(len(turn.completion.ids) for turn in turns)
    assert row.ids == (*turns[-1].prompt, *turns[-1].completion.ids)
    # as the template renders it, but for the thoughts that it drops
    assert strip_thoughts(tokenizer.decode(prompt)) == strip_thoughts(
        tokenizer.decode(rewritten.conversation(messages))
    )


@pytest.mark.parametrize("family", ["qwen3", "llama3"])
def test_thoughts_before_calls_are_kept_too(family_tokenizer: Make, family: str) -> None:
    chat = Chat(family_tokenizer(family), thinking=family != "llama3", history="kept")
    call = Call("look_up", {"word": "b2"})
    opened = chat.opened or "<think>\n"
    said = says(f"{opened}I look\n</think>\n\n", call)
    before = chat.conversation([user("where is b2?")], [tool()])
    after = chat.conversation([user("where is b2?"), said, result("here")], [tool()])
    ids = chat.reply(said["content"], [call])
    assert after == (*before, *ids, *chat.more("here", after="tool", ended=True))
    assert "I look" in chat.tokenizer.decode(list(after))


def test_growing_templates_are_unchanged(family_tokenizer: Make) -> None:
    for family in ("qwen2.5", "smollm2", "gemma"):
        messages = [user("a"), says("b2"), user("c"), says("d4"), user("e")]
        kept, plain = (Chat(family_tokenizer(family), history=history) for history in ("kept", "template"))
        assert kept.conversation(messages) == plain.conversation(messages)


def test_refuses_unsupported_templates(family_tokenizer: Make) -> None:
    for family in ("glm4", "gpt-oss"):  # a reply ends with the role that speaks next, or has channels
        with pytest.raises(
            GymposiumError, match=f"history=kept is not supported: the chat template of '{family}' ends replies"
        ):
            Chat(family_tokenizer(family), history="kept")
    chat = Chat(family_tokenizer("smollm2"), history="kept")
    with pytest.raises(GymposiumError, match="rewrites earlier parts before a message of the tool"):
        chat.more("here", after="tool", ended=True)
