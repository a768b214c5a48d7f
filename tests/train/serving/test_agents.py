"""Agents of other libraries play through the service: four turns with three tool calls."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from gymposium.tasks.tools import Call
from gymposium_agents.chat.chat import Chat

from .scripted import ServedSession, served

AGENTS = Path(__file__).with_name("agents")
PYTHON = os.environ.get("GYMPOSIUM_AGENT_PYTHON")
"""The Python of an environment with the library of the tests that are chosen."""
CONTEXT = 32_768
"""Number of tokens of the model's context. The instructions of smolagents are long."""
WORDS = "abc"

pytestmark = pytest.mark.skipif(PYTHON is None, reason="needs other libraries: tox run -m peers")


def calls(chat: Chat, thoughts: str = "") -> list[str]:
    """Replies that call the tool as the chat template does."""
    assert chat.dialect is not None
    return [f"{thoughts}{chat.dialect.write([Call('look_up', {'word': word})])}" for word in WORDS]


def called(chat: Chat, name: str, **arguments: object) -> str:
    """A reply that calls another tool."""
    assert chat.dialect is not None
    return chat.dialect.write([Call(name, arguments)])


def actions() -> list[str]:
    """Replies that call the tool in the JSON of smolagents, and its final answer."""
    made = [{"name": "look_up", "arguments": {"word": word}} for word in WORDS]
    made.append({"name": "final_answer", "arguments": {"answer": "The sum is 6."}})
    return [f"Thought: next.\nAction:\n{json.dumps(one)}" for one in made]


def code() -> list[str]:
    """Replies that call the tool in Python, and smolagents' final answer."""
    lines = [*(f"print(look_up({word!r}))" for word in WORDS), "final_answer('The sum is 6.')"]
    return [f"Thought: next.\n<code>\n{line}\n</code>" for line in lines]


def play(agent: str, session: ServedSession, *, stream: bool) -> str:
    """Run an agent in the environment of its library, and return what it printed."""
    session.script.context = CONTEXT
    script = AGENTS / f"{agent.replace('-', '_')}_agent.py"
    command = [str(PYTHON), "-I", str(script), session.base_url, *(["stream"] if stream else [])]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("thoughts", [False, True], ids=["plain", "thoughts"])
@pytest.mark.parametrize("agent", ["openai-agents", "pydantic-ai", "langgraph"])
def test_episode_is_one_row(
    agent: str,
    thoughts: bool,
    stream: bool,
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
    tmp_path: Path,
) -> None:
    chat = Chat(family_tokenizer("qwen3" if thoughts else "qwen2.5"), thinking=thoughts)
    thought = "<think>\nhm\n</think>\n\n" if thoughts else ""
    with served(chat, [*calls(chat, thought), f"{thought}The sum is 6."], tmp_path) as session:
        assert "The sum is 6." in play(agent, session, stream=stream)
        assert session.beginnings() == ["fresh", "grown", "grown", "grown"]
        assert session.rows() == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("agent", ["pydantic-ai-output", "smolagents", "smolagents-code"])
def test_episode_with_library_settings_is_one_row(
    agent: str,
    stream: bool,
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
    tmp_path: Path,
) -> None:
    chat = Chat(family_tokenizer("qwen2.5"))
    replies = {
        "pydantic-ai-output": [*calls(chat), called(chat, "final_result", total=6)],
        "smolagents": actions(),
        "smolagents-code": code(),
    }[agent]
    with served(chat, replies, tmp_path) as session:
        assert "6" in play(agent, session, stream=stream).splitlines()[-1]
        assert session.beginnings() == ["fresh", "grown", "grown", "grown"]
        assert session.rows() == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_smolagents_text_calls_make_a_row_per_turn(
    stream: bool,
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
    tmp_path: Path,
) -> None:
    chat = Chat(family_tokenizer("qwen2.5"))
    with served(chat, [*calls(chat), called(chat, "final_answer", answer="The sum is 6.")], tmp_path) as session:
        assert "The sum is 6." in play("smolagents-tools", session, stream=stream)
        assert session.beginnings() == ["fresh", *(f"messages[{n}].content" for n in (2, 4, 6))]
        assert session.rows() == 4
