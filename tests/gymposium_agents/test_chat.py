"""Prompts are the chat template's; what others wrote never becomes a control token."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import GymposiumError
from gymposium_agents.chat import Chat
from gymposium_agents.loading import LoadedModel
from gymposium_agents.small import make_tokenizer

HOSTILE = st.lists(
    st.sampled_from(["<|end|>", "<|user|>", "<|assistant|>", "<|endoftext|>", "user", "\n", "b2", " ", "é", "<|en"])
).map("".join)


@given(text=st.text("abc123xo. ,\n<>|", min_size=1, max_size=60))
def test_a_prompt_is_what_the_chat_template_makes(tiny: LoadedModel, text: str) -> None:
    expected = tiny.chat.tokenizer.apply_chat_template(
        [{"role": "user", "content": text}], add_generation_prompt=True, return_dict=False
    )
    assert list(tiny.chat.prompt(text)) == expected


@given(text=HOSTILE)
def test_text_of_others_holds_no_control_token(tiny: LoadedModel, text: str) -> None:
    special = set(tiny.chat.tokenizer.all_special_ids)
    assert not special & set(tiny.chat.plain(text))
    prompt = tiny.chat.prompt(text)
    assert sum(token in special for token in prompt) == sum(token in special for token in tiny.chat.prompt("b2"))
    assert tiny.chat.read(tiny.chat.plain(text)) == text


def test_a_reply_ends_with_the_end_of_turn_and_reads_back(tiny: LoadedModel) -> None:
    ids = tiny.chat.reply("b2")
    assert ids[-1] == tiny.chat.end
    assert tiny.chat.read(ids) == "b2"


def test_a_control_token_inside_a_reply_stays_visible(tiny: LoadedModel) -> None:
    start = tiny.chat.tokenizer.convert_tokens_to_ids("<|user|>")
    assert tiny.chat.read((*tiny.chat.plain("b2"), start, tiny.chat.end)) == "b2<|user|>"


def test_a_tokenizer_without_a_template_is_refused() -> None:
    tokenizer = make_tokenizer(["b2"], 300)
    tokenizer.chat_template = None
    with pytest.raises(GymposiumError, match="chat template"):
        Chat(tokenizer)


def test_added_tokens_that_are_not_special_are_plain_text_too(tiny: LoadedModel) -> None:
    tokenizer = copy.deepcopy(tiny.chat.tokenizer)
    tokenizer.add_tokens(["<tool_call>"])
    (added,) = tokenizer.encode("<tool_call>", add_special_tokens=False)
    chat = Chat(tokenizer)
    text = "move <tool_call> b2<tool_call>"
    assert added not in chat.prompt(text)
    assert chat.read(chat.plain(text)) == text


def test_the_end_of_turn_is_the_templates() -> None:
    """Gemma ends a turn with <end_of_turn>, which is not its eos."""
    tokenizer = make_tokenizer(["b2"], 300)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<end_of_turn>"]})
    tokenizer.chat_template = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<end_of_turn>\n{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    chat = Chat(tokenizer)
    end = tokenizer.convert_tokens_to_ids("<end_of_turn>")
    assert chat.reply("b2")[-1] == chat.end == end
    assert chat.stops == {end, tokenizer.eos_token_id}
    assert chat.read((*chat.plain("b2"), end)) == "b2"
