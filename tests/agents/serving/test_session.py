"""Sessions turn requests into tokens, rows and answers."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from gymposium.errors import GymposiumError
from gymposium.tasks.tools import Call
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.messages import CHARACTERS_PER_TOKEN
from gymposium_agents.chat.rows import make_token_rows
from gymposium_agents.chat.tokens import BASE, Completion, Sampling, TokenRequest
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_agents.serving.replies import format_message, parse_reply
from gymposium_agents.serving.requests import CompletionRequest
from gymposium_agents.serving.session import ContextFull, Session
from gymposium_agents.serving.turns import sort_by_rows
from gymposium_agents.serving.watching import Watch

from .scripted import CONTEXT, Script, ask, result, said, session, user

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Looks up a word.",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
            "strict": True,
        },
    }
]
GROWS = ("qwen2.5", "qwen3-2507", "qwen3-coder", "llama3")
REWRITES = ("qwen3", "glm4")
"""Families whose templates write thoughts into a prompt that they leave out of history."""


@pytest.fixture
def chat(family_tokenizer: Callable[[str], PreTrainedTokenizerFast]) -> Chat:
    return Chat(family_tokenizer("qwen2.5"))


def list_row_turns(of: Session) -> list[list[int]]:
    """For each row of a session, the numbers of the turns that it holds, in order."""
    ordered = sort_by_rows(of.turns)
    made = make_token_rows([turn.tokens for turn in ordered])
    return [[ordered[n].number for n in dict.fromkeys(row.turns) if n >= 0] for row in made]


def list_sampled_tokens(of: Session) -> dict[int, list[tuple[int, ...]]]:
    """The sampled tokens of each turn, as they stand in the rows."""
    ordered = sort_by_rows(of.turns)
    found: dict[int, list[tuple[int, ...]]] = {}
    for row in make_token_rows([turn.tokens for turn in ordered]):
        for n in dict.fromkeys(row.turns):
            if n >= 0:
                ids = tuple(one for one, turn in zip(row.ids, row.turns, strict=True) if turn == n)
                found.setdefault(ordered[n].number, []).append(ids)
    return found


LONG = "<" * (CHARACTERS_PER_TOKEN * CONTEXT)
CALL = {"id": "a", "type": "function", "function": {"name": "look_up", "arguments": json.dumps({"word": LONG})}}


@pytest.mark.parametrize(
    ("messages", "tools"),
    [
        ([user(LONG + "<")], []),
        ([user(LONG[: len(LONG) // 50])] * 60, []),
        (
            [
                user("a"),
                {"role": "assistant", "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "a", "content": "b"},
            ],
            [],
        ),
        ([user("a")], [{"type": "function", "function": {"name": "f", "description": LONG}}]),
    ],
    ids=["message", "messages", "call", "tool"],
)
def test_far_too_long_requests_are_not_tokenized(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, messages: list[Any], tools: list[Any]
) -> None:
    """The tokenizer takes a minute for four megabytes, and holds up other clients."""
    monkeypatch.setattr(Chat, "rendering", lambda *given: pytest.fail("it was rendered"))
    with pytest.raises(ContextFull, match=r"[\d,]+ characters, tools included, but the model's context is 4096"):
        ask(session(chat, "no"), *messages, tools=tools)


def test_engine_requests_carry_the_session_name(chat: Chat) -> None:
    script = Script(chat, ["one", "two"])
    player = LanguageModelPlayer("lm:script", script, chat, sampling=Sampling(1.0, 200))
    named = Session(player, script.submit, 0, name="some session")
    first = ask(named, user("a"))
    ask(named, user("a"), said(first), user("b"))
    assert [request.conversation for request in script.asked] == ["some session"] * 2


def test_conversation_is_one_row_of_sampled_tokens(chat: Chat) -> None:
    talk = session(chat, "b2", "c3 ", "a1")
    one = ask(talk, user("Your move?"))
    two = ask(talk, user("Your move?"), said(one), user("And now?"))
    ask(talk, user("Your move?"), said(one), user("And now?"), said(two) | {"content": "c3"}, user("Last?"))
    assert list_row_turns(talk) == [[0, 1, 2]]
    for before, after in zip(talk.turns, talk.turns[1:]):
        read = (*before.tokens.prompt, *before.tokens.completion.ids)
        assert after.tokens.prompt[: len(read)] == read
    messages = [{"role": "user", "content": "Your move?"}, {"role": "assistant", "content": "b2"}, user("And now?")]
    assert two.tokens.prompt == chat.conversation(messages), "the template's own tokens, where spelling is the same"


@pytest.mark.parametrize("family", [*GROWS, *REWRITES])
def test_tool_turns_make_one_row_if_history_grows(
    family: str, family_tokenizer: Callable[[str], PreTrainedTokenizerFast]
) -> None:
    chat = Chat(family_tokenizer(family))
    calls = [Call("look_up", {"word": word}) for word in ("éa", "b", "c")]
    talk = session(chat, *calls, "The answer is 3.")
    messages: list[Any] = [user("Look it up.")]
    for word in "abc":
        turn = ask(talk, *messages, tools=TOOLS)
        reply: Any = json.loads(json.dumps(said(turn)))
        arguments = json.loads(reply["tool_calls"][0]["function"]["arguments"])
        reply["tool_calls"][0]["function"]["arguments"] = json.dumps(arguments, indent=2)  # in another spelling
        messages += reply, result(turn, f"{word} is 3")
    last = ask(talk, *messages, tools=TOOLS)
    assert said(last)["content"] == "The answer is 3."
    assert [turn.beginning for turn in talk.turns] == ["fresh", *["grown" if family in GROWS else "rewritten"] * 3]
    assert list_row_turns(talk) == ([[0, 1, 2, 3]] if family in GROWS else [[0], [1], [2], [3]])


def test_branches_and_parallel_agents_make_separate_rows(chat: Chat) -> None:
    talk = session(chat, "plan", "a1", "a2", "b1", "other", "b2", "sum")
    plan = ask(talk, user("Plan."))  # 0
    first = [user("Plan."), said(plan), user("Go.")]
    a1 = ask(talk, user("Agent A."))  # 1
    ask(talk, user("Agent A."), said(a1), user("More."))  # 2
    b1 = ask(talk, user("Agent B."))  # 3
    ask(talk, *first)  # 4
    ask(talk, user("Agent B."), said(b1), user("More."))  # 5
    ask(talk, user("Summary: A said a2."), user("Go on."))  # 6
    assert list_row_turns(talk) == [[0, 4], [1, 2], [3, 5], [6]]
    assert [turn.beginning for turn in talk.turns] == ["fresh", "fresh", "grown", "fresh", "grown", "grown", "fresh"]


def test_branches_share_a_beginning_that_is_trained_once(chat: Chat) -> None:
    talk = session(chat, "plan", "left", "right", "deep")
    plan = ask(talk, user("Plan."))
    ask(talk, user("Plan."), said(plan), user("Go."))
    right = ask(talk, user("Plan."), said(plan), user("Go the other way."))
    ask(talk, user("Plan."), said(plan), user("Go the other way."), said(right), user("On."))
    assert list_row_turns(talk) == [[0, 1], [2, 3]]
    assert list_sampled_tokens(talk) == {turn.number: [turn.tokens.completion.ids] for turn in talk.turns}
    shared = (*plan.tokens.prompt, *plan.tokens.completion.ids)
    assert right.tokens.prompt[: len(shared)] == shared


def test_repeated_requests_with_client_replies_are_answered(chat: Chat) -> None:
    talk = session(chat, "a", "b", "c", "d")
    examples = [user("2+2?"), {"role": "assistant", "content": "4"}, user("3+3?")]
    first, second = ask(talk, *examples), ask(talk, *examples)
    assert (first.beginning, second.beginning) == ("fresh", "fresh")
    assert first.tokens.prompt == second.tokens.prompt
    changed = [*examples, said(first) | {"content": "z"}, user("4+4?")]
    for _ in range(2):
        turn = ask(talk, *changed)
        assert (turn.beginning, turn.differs) == ("diverged", "messages[3].content")


def test_changed_reply_diverges_and_names_the_field(chat: Chat) -> None:
    talk = session(chat, "b2", Call("look_up", {"word": "a"}), "x", "y", "z")
    one = ask(talk, user("Move?"), tools=TOOLS)
    two = ask(talk, user("Move?"), said(one), user("Look."), tools=TOOLS)
    changed: Any = json.loads(json.dumps(said(two)))
    changed["tool_calls"][0]["function"]["arguments"] = '{"word": "other"}'
    three = ask(talk, user("Move?"), said(one), user("Look."), changed, result(two, "3"), tools=TOOLS)
    assert (three.beginning, three.differs) == ("diverged", "messages[3].tool_calls[0].function.arguments")
    four = ask(talk, user("Move?"), said(one) | {"content": "c3"}, user("Look."), tools=TOOLS)
    assert (four.beginning, four.differs) == ("diverged", "messages[1].content")
    assert len(list_row_turns(talk)) == 3


def test_numbers_and_nested_keys_may_change_their_form(
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
) -> None:
    """JavaScript writes 1.0 as 1, and Go sorts the keys of objects."""
    chat = Chat(family_tokenizer("qwen2.5"))
    parameters = {"type": "object", "properties": {"at": {"type": "object"}}}
    tools = [{"type": "function", "function": {"name": "move", "parameters": parameters}}]
    talk = session(chat, Call("move", {"at": {"y": [1.0, 2.5], "x": 1e21}}), "Done.", "Again.")
    one = ask(talk, user("Move."), tools=tools)
    sent: Any = json.loads(json.dumps(said(one)))
    for arguments, beginning in [
        ('{"at":{"x":1e+21,"y":[1,2.5]}}', "grown"),
        ('{"at":{"x":1e+21,"y":[1,3]}}', "diverged"),
    ]:
        sent["tool_calls"][0]["function"]["arguments"] = arguments
        assert ask(talk, user("Move."), sent, result(one, "3"), tools=tools).beginning == beginning


def test_dropped_thoughts_start_a_new_row(
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
) -> None:
    chat = Chat(family_tokenizer("qwen3"), thinking=True)
    talk = session(chat, "<think>\nhm\n</think>\n\nb2", "<think>\nso\n</think>\n\nc3")
    one = ask(talk, user("Move?"))
    assert said(one)["content"] == "\n\nb2"
    assert said(one)["reasoning_content"] == "hm"
    two = ask(talk, user("Move?"), said(one), user("And now?"))
    assert two.beginning == "rewritten"
    assert list_row_turns(talk) == [[0], [1]]


def test_thoughts_before_a_call_follow_the_template(
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
) -> None:
    chat = Chat(family_tokenizer("qwen3"), thinking=True)
    assert chat.dialect is not None
    call = "<think>\nhm\n</think>\n\n" + chat.dialect.write([Call("look_up", {"word": "a"})])
    talk = session(chat, call, "<think>\nso\n</think>\n\nIt is 3.")
    one = ask(talk, user("Look."), tools=TOOLS)
    reply = {name: value for name, value in said(one).items() if name != "reasoning_content"}  # as most clients send it
    two = ask(talk, user("Look."), reply, result(one, "3"), tools=TOOLS)
    assert two.beginning == "grown"
    assert list_row_turns(talk) == [[0, 1]]


@pytest.mark.parametrize("family", ["qwen2.5", "qwen3-2507", "qwen3-coder"])
def test_text_before_a_call_is_kept_as_content(
    family: str, family_tokenizer: Callable[[str], PreTrainedTokenizerFast]
) -> None:
    chat = Chat(family_tokenizer(family))
    assert chat.dialect is not None
    call = chat.dialect.write([Call("look_up", {"word": "a"})])
    talk = session(chat, f"I look it up.\n{call}", f"{call} and more", "It is 3.")
    one = ask(talk, user("Look."), tools=TOOLS)
    assert said(one)["content"] == "I look it up."
    assert said(one)["tool_calls"]
    two = ask(talk, user("Look."), said(one), result(one, "3"), tools=TOOLS)
    assert two.beginning == "grown"
    assert said(two)["content"] == f"{call} and more", "text behind a call is no call"
    assert "tool_calls" not in said(two)


def test_retries_reuse_answers_and_new_requests_sample(chat: Chat) -> None:
    talk = session(chat, "one", "two")
    first = ask(talk, user("Move?"))
    assert ask(talk, user("Move?"), again=True) is first
    assert said(ask(talk, user("Move?")))["content"] == "two"
    assert list_row_turns(talk) == [[0], [1]]


def test_session_resumes_from_its_turns(chat: Chat) -> None:
    before = session(chat, "plan", "a1", "b1")
    plan = ask(before, user("Plan."))
    ask(before, user("Plan."), said(plan), user("Go."))
    talk = session(chat, "on", turns=before.turns)
    go = [user("Plan."), said(plan), user("Go.")]
    assert ask(talk, *go, again=True) == before.turns[1]
    on = ask(talk, *go, said(before.turns[1]), user("On."))
    assert (on.number, on.beginning, on.parent) == (2, "grown", 1)
    assert list_row_turns(talk) == [[0, 1, 2]]


def test_stop_texts_are_trained_but_not_returned(chat: Chat) -> None:
    talk = session(chat, "b2 and then c3", "d4")
    turn = ask(talk, user("Move?"), stop=[" then"])
    assert said(turn)["content"] == "b2 and"
    assert turn.answer["choices"][0]["finish_reason"] == "stop"
    assert chat.read(turn.tokens.completion.ids).startswith("b2 and then")
    assert "c3" not in chat.read(turn.tokens.completion.ids)
    after = ask(talk, user("Move?"), said(turn), user("Now?"))
    assert after.beginning == "grown"
    assert list_row_turns(talk) == [[0, 1]]


def test_messages_that_fill_the_context_are_refused(chat: Chat) -> None:
    with pytest.raises(ContextFull, match="End the session with truncated"):
        ask(session(chat, "b2"), user("far too long " * 4_000))


def test_truncated_reply_is_closed_before_next_message(chat: Chat) -> None:
    talk = session(chat, "b2 and then c3", "d4", max_tokens=4)
    one = ask(talk, user("Move?"))
    assert one.answer["choices"][0]["finish_reason"] == "length"
    two = ask(talk, user("Move?"), said(one), user("Now?"))
    behind = len(one.tokens.prompt) + len(one.tokens.completion.ids)
    assert two.beginning == "grown"
    assert two.tokens.prompt[behind] == chat.end


THOUGHTS = ["<think>\n{}</think>", "[THINK]{}[/THINK]", "<|channel>thought\n{}<channel|>", "[reasoning]{}[/reasoning]"]
THOUGHTS += ["<reasoning>{}</reasoning>", "◁think▷{}◁/think▷", "<|begin_of_thought|>{}<|end_of_thought|>"]
THOUGHTS += ['<details type="reasoning">{}</details>', "Here is my thought process:{}Here is my response:"]


@pytest.mark.parametrize("thoughts", THOUGHTS)
@pytest.mark.parametrize("content", ["\n\nb2", "<move>b2</move>", "b2 or </think> [reasoning] <think>"])
def test_thoughts_are_separated_with_and_without_streaming(chat: Chat, thoughts: str, content: str) -> None:
    request = CompletionRequest.read({"messages": [user("Go.")]})
    for text, wanted in ((thoughts.format("hm, c3?") + content, content), (content, content)):
        ids = chat.reply(text)
        said = parse_reply(request, chat, Completion(ids, (0.0,) * len(ids), "stop", BASE))
        assert (said.thoughts + said.message["content"], said.message["content"]) == (text, wanted)
        message = format_message(said, "x")
        assert message.get("reasoning_content") == ("hm, c3?" if text != content else None)
        shown: list[str] = []
        watch = Watch(request, chat, shown.append)
        for token in ids:
            watch(token)
        assert watch.shown == "".join(shown)
        assert wanted.startswith(watch.shown)
        assert watch.shown == wanted or text == content
    text = "It is the centre, [reasoning] or <think> is no thought." + "x" * 300
    watch = Watch(request, chat, lambda piece: None)
    for token in chat.reply(text):
        watch(token)
    assert watch.shown == text


def test_calls_with_lone_surrogates_are_content(chat: Chat) -> None:
    assert chat.dialect is not None
    written = chat.dialect.write([Call("look_up", {"word": "WORD"})]).replace("WORD", r"\ud800")
    request = CompletionRequest.read({"messages": [user("hello")], "tools": TOOLS})
    ids = chat.plain(written)
    parsed = parse_reply(request, chat, Completion(ids, (0.0,) * len(ids), "stop", BASE))
    assert parsed.message == {"role": "assistant", "content": written}
    json.dumps(format_message(parsed, "a"), ensure_ascii=False).encode()


@pytest.mark.parametrize("fails", [False, True])
def test_lost_client_of_a_stream_keeps_the_reply_and_hides_no_other_error(
    fails: bool, family_tokenizer: Callable[[str], PreTrainedTokenizerFast], caplog: pytest.LogCaptureFixture
) -> None:
    chat = Chat(family_tokenizer("qwen2.5"))
    waiting: Future[Completion] = Future()
    asked = asyncio.Event()

    def submit(request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        asked.set()
        return waiting

    talk = Session(LanguageModelPlayer("lm:script", Script(chat, []), chat, sampling=Sampling(1.0, 9)), submit, 0)
    request = CompletionRequest.read({"messages": [user("Move?")]})

    async def lose_client() -> None:
        part = asyncio.create_task(anext(talk.stream(request)))
        await asked.wait()
        part.cancel()
        await asyncio.gather(part, return_exceptions=True)
        ids = tuple(chat.reply("b2"))
        if fails:
            waiting.set_exception(GymposiumError("The engine is gone."))
        else:
            waiting.set_result(Completion(ids, (-0.5,) * len(ids), "stop", BASE))
        while talk.busy:
            await asyncio.sleep(0)

    asyncio.run(lose_client())
    gc.collect()
    assert len(talk.turns) == (not fails)
    assert not caplog.records
