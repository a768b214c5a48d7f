"""Support for tools and growing history is detected by rendering, not by the model's name."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from transformers import PreTrainedTokenizerFast

from gymposium.errors import GymposiumError
from gymposium.replies.reading import READERS
from gymposium.tasks.tools import Call
from gymposium.tasks.tools.reader import ToolsReader
from gymposium_agents.chat.chat import Chat

from .talking import ChatOf

FORMATS = [
    # family, thinking, dialect, grows after (user, tool), and the same if replies have no thoughts
    ("qwen2.5", False, "hermes", (True, True), (True, True)),
    ("qwen3", False, "hermes", (False, False), (False, False)),
    ("qwen3", True, "hermes", (False, True), (True, True)),
    ("qwen3-2507", False, "hermes", (True, True), (True, True)),
    ("qwen3-coder", False, "functions", (True, True), (True, True)),
    ("llama3", False, "llama", (True, False), (True, True)),
    ("glm4", False, "keys", (False, False), (False, False)),
    ("glm4", True, "keys", (False, False), (False, False)),
    ("gpt-oss", True, None, (False, False), (False, False)),
    ("smollm2", False, None, (True, False), (True, False)),
    ("gemma", False, None, (True, False), (True, False)),
]


@pytest.mark.parametrize(("family", "thinking", "dialect", "grows", "bare"), FORMATS)
def test_detects_dialect_and_growing_history(
    make_chat: ChatOf,
    family: str,
    thinking: bool,
    dialect: str | None,
    grows: tuple[bool, bool],
    bare: tuple[bool, bool],
) -> None:
    chat = make_chat(family, thinking)
    assert (chat.dialect and chat.dialect.name) == dialect
    assert (chat.grows("user"), chat.grows("tool")) == grows
    assert (chat.grows("user", thoughts=False), chat.grows("tool", thoughts=False)) == bare
    for after, does in zip(("user", "tool"), grows, strict=True):
        if not does:
            with pytest.raises(GymposiumError, match=f"rewrites earlier parts before a message of the {after}"):
                chat.more("!", after=after, ended=True)


@pytest.mark.parametrize(
    ("family", "thinking", "said"),
    [
        (
            "qwen3",
            True,
            "as in hermes; history before a result is kept, before a user message kept if replies have",
        ),
        ("glm4", True, "as in keys; history before a result is rewritten, before a user message rewritten."),
        ("smollm2", False, "no known tool calls; history before a user message is kept."),
    ],
)
def test_verdict_summarizes_the_template(make_chat: ChatOf, family: str, thinking: bool, said: str) -> None:
    assert said in make_chat(family, thinking).verdict


def make_changed_chat(tokenizer: PreTrainedTokenizerFast, old: str, new: str, *, thinking: bool = False) -> Chat:
    """The chat of a template in which `old` is replaced."""
    assert old in tokenizer.chat_template
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = tokenizer.chat_template.replace(old, new)
    return Chat(tokenizer, thinking=thinking)


Tokenizers = Callable[[str], PreTrainedTokenizerFast]
RESULT = "turn.content ~ '\\n</tool_response>'"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (RESULT, f"(turn.content if loop.last else 'gone') ~ {RESULT.partition(' ~ ')[2]}"),
        (RESULT, f"turn.tool_call_id ~ {RESULT}"),
        (RESULT, f"turn.name ~ {RESULT}"),
        (".function.arguments | tojson", ".function.arguments | tojson | upper"),
        ("~ turn.content if", "~ turn.content.split('</think>')[-1] if"),
        ("'\\n' ~ turn.content if turn.content else ''", "'\\n<think>\\n</think>'"),
    ],
    ids=["old results dropped", "numbered", "named", "upper case", "thoughts", "empty thoughts"],
)
def test_detects_templates_that_rewrite_calls_or_results(family_tokenizer: Tokenizers, old: str, new: str) -> None:
    assert Chat(family_tokenizer("qwen2.5")).grows("tool")
    assert not make_changed_chat(family_tokenizer("qwen2.5"), old, new).grows("tool")


def test_growing_needs_only_single_calls(family_tokenizer: Tokenizers) -> None:
    chat = make_changed_chat(
        family_tokenizer("qwen2.5"), "'\\n<tool_call>\\n{", "('\\n<tool_call>\\n{' if loop.first else '{') ~ '"
    )
    assert chat.more("one", after="tool", ended=True)
    with pytest.raises(GymposiumError, match="Many templates allow one call"):
        chat.more("one", "two", after="tool", ended=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("~ tool | tojson", "~ tool.function.name"),
        ("{%- elif turn.tool_calls -%}", "{%- elif false -%}"),
        (RESULT, RESULT.partition(" ~ ")[2]),
        ('"arguments": ', '"args": '),
        ("call.function.arguments | tojson", "call.function.arguments | tojson(ensure_ascii=true)"),
        ("{%- if turn.role == 'tool' -%}", "{%- if turn.role == 'tool' -%}{{- raise_exception('no tools') -}}"),
    ],
    ids=["names only", "no calls", "no results", "other keys", "escaped", "refused"],
)
def test_incomplete_tool_support_means_no_dialect(family_tokenizer: Tokenizers, old: str, new: str) -> None:
    chat = make_changed_chat(family_tokenizer("qwen2.5"), old, new)
    assert chat.dialect is None
    assert chat.grows("user")
    assert not chat.grows("tool")


def test_template_opened_thoughts_belong_to_the_reply(family_tokenizer: Tokenizers) -> None:
    """As in Qwen3-Thinking-2507's."""
    opening = "{%- if add_generation_prompt -%}\n    {{- '<|im_start|>assistant\\n"
    chat = make_changed_chat(family_tokenizer("qwen3"), opening, f"{opening}<think>\\n", thinking=True)
    assert chat.opened == "<think>\n"
    assert (chat.grows("user"), chat.grows("tool")) == (False, True)
    call = Call("look_up", {"word": "b2"})
    assert chat.dialect is not None
    read = ToolsReader(chat.dialect).parts(chat.read(chat.reply("", [call])))
    assert read == ("<think>\n\n</think>", (call,))
    assert READERS["tags"].extract_move(chat.read(chat.reply(READERS["tags"].answer("b2")))) == "b2"


def test_history_may_grow_only_after_tool_messages(family_tokenizer: Tokenizers) -> None:
    forgets = "turn.content if messages[loop.index0 + 1:] | selectattr('role', 'eq', 'user') | list == [] else 'gone'"
    chat = make_changed_chat(family_tokenizer("qwen3-2507"), RESULT, f"({forgets}) ~ {RESULT.partition(' ~ ')[2]}")
    assert chat.grows("tool")
    assert not chat.grows("user")


def test_without_end_token_next_role_ends_the_turn(make_chat: ChatOf) -> None:
    chat = make_chat("glm4", True)
    observation = chat.tokenizer.convert_tokens_to_ids("<|observation|>")
    assert set(chat.tokenizer.convert_ids_to_tokens(chat.stops)) == {"<|endoftext|>", "<|user|>", "<|observation|>"}
    assert chat.read((*chat.plain("b2"), observation)) == "b2"
