"""Conversations with tools match the chat template, and untrusted text never becomes a control token."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st
from transformers import PreTrainedTokenizerFast

from gymposium.errors import GymposiumError
from gymposium.tasks.tools import Call, Tool, format_calls
from gymposium.tasks.tools.reader import ToolsReader
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import Message
from gymposium_agents.models.small import make_tokenizer

from .talking import HOSTILE, ORDINARY, PLAIN, ChatOf, added, by_transformers, result, says, tool, user

WITH_TOOLS = ("qwen2.5", "qwen3", "qwen3-2507", "qwen3-coder", "llama3", "glm4", "gpt-oss")
WITH_DIALECT = WITH_TOOLS[:-1]
GROWING = ("qwen2.5", "qwen3", "qwen3-2507", "qwen3-coder", "llama3")
"""Families in which history grows behind a tool, at least without thoughts; Qwen3 thinking."""
SEVERAL = ("qwen2.5", "qwen3", "qwen3-2507", "qwen3-coder", "glm4")
"""Families in which a reply may have several calls."""


def thinking(family: str) -> bool:
    return family == "qwen3"


@pytest.mark.parametrize("family", WITH_TOOLS)
@given(texts=st.lists(ORDINARY, min_size=5, max_size=5), several=st.booleans())
@settings(max_examples=8)
def test_tool_conversations_match_transformers(make_chat: ChatOf, family: str, texts: list[str], several: bool) -> None:
    chat = make_chat(family, thinking(family))
    first, said, given_word, found, about = texts
    call = Call("look_up", {"word": given_word, "n": [1, 2], "deep": {"a": [None, True, 0.5]}})
    calls = [call, call] if several and family in SEVERAL else [call]
    messages = [user(first), says(said, *calls), *(result(found) for _ in calls), says(said), user(first)]
    tools = [tool(description=about), tool("count")]
    assert list(chat.conversation(messages, tools)) == by_transformers(chat, messages, tools)


@pytest.mark.parametrize("family", WITH_TOOLS)
@given(text=HOSTILE | ORDINARY, about=HOSTILE | ORDINARY)
@settings(max_examples=8)
def test_tool_prompt_equals_a_one_message_conversation(make_chat: ChatOf, family: str, text: str, about: str) -> None:
    chat, tools = make_chat(family), [tool(description=about)]
    assert chat.prompt(text, tools) == chat.conversation([user(text)], tools)


def untrusted(chat: Chat, texts: list[str]) -> tuple[list[Message], list[Tool]]:
    """A conversation in which each place for text from outside has one of these texts."""
    described, argument, about, choice, first, name, key, value, found, said, then = texts
    tools = [tool(description=described, argument=argument, about=about, one=choice)]
    call = Call(name, {key: value, "n": [1, value], "deep": {key: value}})
    return [user(first), says("", call), result(found), says(said), user(then)], tools


@pytest.mark.parametrize("family", WITH_TOOLS)
@given(texts=st.lists(HOSTILE, min_size=11, max_size=11))
@settings(max_examples=20)
def test_untrusted_text_never_becomes_a_control_token(make_chat: ChatOf, family: str, texts: list[str]) -> None:
    """Neither alone nor together with the template's own text."""
    chat = make_chat(family, thinking(family))
    texts[9] = texts[9].replace("think>", "thing>")  # thoughts in past replies are left to the template
    messages, tools = untrusted(chat, texts)
    ordinary = ["b2" if text.strip() else text for text in texts]
    ordinary[1], ordinary[6] = "b2", "b2"
    if {texts[1], texts[6]} & {"n", "deep"}:
        return
    assert added(chat, chat.conversation(messages, tools)) == added(chat, chat.conversation(*untrusted(chat, ordinary)))
    read = chat.tokenizer.decode(chat.conversation(messages, tools))
    if family not in ("llama3", "gpt-oss"):  # they write results as JSON
        assert texts[8] in read


@pytest.mark.parametrize("word", ["tool_call", "/tool_call", "tool_call>x", "x><tool_call", " tool_call "])
def test_bracketed_words_never_become_control_tokens(make_chat: ChatOf, word: str) -> None:
    chat = make_chat("qwen3-coder")
    tools = [[Tool("f", "d", {"type": "object", "properties": {"a": {key: "b2"}}})] for key in (word, "b2")]
    one, other = (chat.prompt("b2", one) for one in tools)
    assert added(chat, one) == added(chat, other)
    assert f"<{word}>b2</{word}>" in chat.tokenizer.decode(one)


def test_schemas_are_written_verbatim(make_chat: ChatOf) -> None:
    """Templates look for its words, which may be part of a control token."""
    chat, tools = make_chat("gpt-oss"), [tool(argument="start", about="x><tool_call")]
    assert "start: string,\n" in chat.tokenizer.decode(chat.prompt("b2", tools))


def test_argument_names_keep_their_order(family_tokenizer: Callable[[str], PreTrainedTokenizerFast]) -> None:
    """Even if one is part of a control token."""
    tokenizer = copy.deepcopy(family_tokenizer("qwen3-coder"))
    tokenizer.chat_template = tokenizer.chat_template.replace(".items()", " | dictsort")
    chat, tools = Chat(tokenizer), [tool(argument="start"), tool(argument="zebra")]
    assert list(chat.prompt("b2", tools)) == by_transformers(chat, [user("b2")], tools)
    call = Call("look_up", {"a": "b2", "start": "b2", "zebra": "b2"})
    assert chat.read(chat.reply("", [call])).index("=start>") < chat.read(chat.reply("", [call])).index("=zebra>")


TURNS = st.lists(
    st.tuples(
        st.lists(
            st.dictionaries(st.sampled_from(["b2", "word", "n"]), PLAIN | st.integers(0, 99)), min_size=1, max_size=2
        ),
        ORDINARY,
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("family", GROWING)
@given(first=ORDINARY, turns=TURNS)
@settings(max_examples=8)
def test_incremental_prompt_with_results_matches_full_conversation(
    make_chat: ChatOf, family: str, first: str, turns: list[tuple[list[dict[str, object]], str, bool]]
) -> None:
    """Whether the model ended its turns or was cut off."""
    chat, tools = make_chat(family, thinking(family)), [tool(), tool("count")]
    ids, messages = chat.prompt(first, tools), [user(first)]
    for arguments, found, ended in turns:
        calls = [Call("count", dict(sorted(one.items()))) for one in arguments]
        calls = calls if family in SEVERAL else calls[:1]
        results = [f"{number}{found}" for number in range(len(calls))]
        reply = chat.reply("", calls)
        ids += reply if ended else reply[:-1]
        ids += chat.more(*results, after="tool", ended=ended, thoughts=False)
        messages += says("", *calls), *map(result, results)
        assert list(ids) == by_transformers(chat, messages, tools)


def test_thoughts_before_calls_last_until_next_user_message(make_chat: ChatOf) -> None:
    chat, tools = make_chat("qwen3", True), [tool()]
    call, thoughts = Call("look_up", {"word": "b2"}), "<think>\nb or c\n</think>\n\n"
    ids, messages = chat.prompt("?", tools), [user("?")]
    for found in ("none", "one"):
        ids += chat.reply(thoughts, [call]) + chat.more(found, after="tool", ended=True)
        messages += says(thoughts, call), result(found)
        assert ids == chat.conversation(messages, tools)
    rewritten = chat.tokenizer.decode(chat.conversation([*messages, says("b2"), user("?")], tools))
    assert "b or c" not in rewritten


def test_results_of_several_calls_share_a_turn(make_chat: ChatOf) -> None:
    read = make_chat("qwen2.5").tokenizer.decode(make_chat("qwen2.5").more("one", "two", after="tool", ended=True))
    turn = "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"
    assert read == f"\n<|im_start|>user\n{turn}<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize("texts", [(), ("one", "two")])
def test_refuses_more_results_than_the_template_supports(make_chat: ChatOf, texts: tuple[str, ...]) -> None:
    with pytest.raises(GymposiumError, match=f"{len(texts)} tool texts"):
        make_chat("llama3").more(*texts, after="tool", ended=True, thoughts=False)
    with pytest.raises(GymposiumError, match=f"{len(texts)} user texts"):
        make_chat("qwen2.5").more(*texts, ended=True)


@pytest.mark.parametrize("family", WITH_DIALECT)
@given(text=HOSTILE, key=HOSTILE, value=HOSTILE)
@settings(max_examples=8)
def test_only_call_tags_outside_arguments_are_tokens(
    make_chat: ChatOf, family: str, text: str, key: str, value: str
) -> None:
    chat = make_chat(family)
    assert chat.dialect is not None
    call = Call("look_up", {key: value})
    plain = Call("look_up", {"b2": "b2"})
    ids = chat.reply("b2 ", [plain])
    assert chat.read(ids) == "b2 " + chat.dialect.write([plain])
    try:
        written = chat.reply("b2 ", [call])
    except GymposiumError:  # the dialect cannot write its own tags
        return
    assert added(chat, written) == added(chat, ids)
    assert len(added(chat, chat.reply("", [call]))) == (1 if family == "llama3" else 7 if family == "glm4" else 3)


@pytest.mark.parametrize(("family", "count"), list(product(WITH_DIALECT, (1, 2))))
def test_dialect_calls_round_trip(make_chat: ChatOf, family: str, count: int) -> None:
    chat = make_chat(family)
    assert chat.dialect is not None
    calls = [Call("look_up", {"word": f"b{n}"}) for n in range(count)]
    if count > 1 and family not in SEVERAL:
        with pytest.raises(GymposiumError, match="one call"):
            chat.reply("", calls)
        return
    read = chat.read(chat.reply("<think>\nb\n</think>\n\n", calls))
    assert ToolsReader(chat.dialect).extract_move(read) == format_calls(calls)


def test_results_require_preceding_calls_if_template_does(make_chat: ChatOf) -> None:
    chat = make_chat("gpt-oss")
    with pytest.raises(GymposiumError, match=r"\(user, assistant, tool\): a result without a call"):
        chat.conversation([user("?"), says("b2"), result("one")])
    read = chat.tokenizer.decode(chat.conversation([user("?"), says("", Call("look_up", {})), result("one")]))
    assert '<|start|>functions.look_up to=assistant<|channel|>commentary<|message|>"one"<|end|>' in read
    with pytest.raises(GymposiumError, match="unknown dialect"):
        chat.reply("", [Call("look_up", {})])


def test_template_without_tools_suggests_an_alternative(make_chat: ChatOf) -> None:
    chat = make_chat("smollm2")
    for asked in (
        lambda: chat.prompt("?", [tool()]),
        lambda: chat.conversation([user("?")], [tool()]),
        lambda: chat.conversation([user("?"), says("", Call("look_up", {})), result("one")]),
    ):
        with pytest.raises(GymposiumError, match=r"does not support tools\. Describe them in the first message"):
            asked()


def test_results_refer_to_calls_by_id_and_name() -> None:
    """Some templates write the number or the name of a call beside its result."""
    tokenizer = make_tokenizer(["b2"], 300)
    tokenizer.chat_template = (
        "{% for m in messages %}<|user|>{{ m.content }}{{ m.tool_call_id }}{{ m.name }}"
        "{% for c in m.tool_calls or () %}[{{ c.id }} {{ c.function.name }}]{{ c.function.arguments | tojson }}"
        "{% endfor %}{% endfor %}<|assistant|>"
    )
    chat = Chat(tokenizer)
    a, b = Call("a", {}), Call("b", {})
    messages = [user("?"), says("", a, b), result("A"), {**result("B"), "name": "z"}, says("", a), result("C")]
    read = chat.tokenizer.decode(chat.conversation(messages)).removesuffix("<|assistant|>")
    assert read.split("<|user|>")[1:] == [
        "?", "[000000001 a]{}[000000002 b]{}", "A000000001a", "B000000002z", "[000000003 a]{}", "C000000003a"
    ]  # fmt: skip
