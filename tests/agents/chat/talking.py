"""Conversations with tools for tests, and what transformers makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from gymposium.tasks.tools import Call, Tool
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import Message

ChatOf = Callable[..., Chat]

CONTROLS = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>",
    "<think>", "</think>", "<|eot_id|>", "<|start_header_id|>", "<|user|>", "<|assistant|>", "<|observation|>",
    "<arg_key>", "</arg_value>", "<|start|>", "<|end|>", "<|call|>", "<|message|>",
)  # fmt: skip
PARTS = ("tool_call", "/tool_call", "<tool_call", "tool_call>", "im_end|>", "<|im_", "<", ">", "</", "call|>", "think")


def join_pieces(*pieces: str, most: int = 6) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=most).map("".join)


HOSTILE = join_pieces(*CONTROLS, *PARTS, "b2", " ", "\n", '"', "\\", "\ue000", "\ue003", "日")
ORDINARY = join_pieces("b2", "user", "x . o", '"', "\\", "{", "}", "é", "日本", "🎲", "\ue001", " ", "\n", "'s", most=8)
PLAIN = join_pieces("b2", "bid 4", "e", ", ", " so ", ".").map(str.strip).filter(bool)


def tool(
    name: str = "look_up",
    description: str = "Looks up.",
    argument: str = "word",
    about: str = "A word.",
    one: str = "b2",
) -> Tool:
    """A tool with a text argument and a list argument."""
    word = {"type": "string", "description": about, "enum": [one, "c3"]}
    several = {"type": "array", "items": {"type": "integer"}}
    return Tool(
        name, description, {"type": "object", "properties": {argument: word, "n": several}, "required": [argument]}
    )


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def says(text: str, *calls: Call) -> Message:
    return {"role": "assistant", "content": text, "tool_calls": calls}


def result(text: str) -> Message:
    return {"role": "tool", "content": text}


def by_transformers(chat: Chat, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> list[int]:
    ids: list[int] = chat.tokenizer.apply_chat_template(
        [_in_full(message) for message in messages],
        tools=[one.as_function for one in tools] or None,
        add_generation_prompt=True,
        enable_thinking=chat.thinking,
        return_dict=False,
    )
    return ids


def added(chat: Chat, ids: Sequence[int]) -> list[int]:
    """The control tokens among these ids."""
    return [i for i in ids if i in chat.tokenizer.added_tokens_decoder]


def _in_full(message: Message) -> dict[str, Any]:
    full: dict[str, Any] = {"role": message["role"], "content": message["content"]}
    if calls := message.get("tool_calls"):
        full["tool_calls"] = [
            {"type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in calls
        ]
    return full
