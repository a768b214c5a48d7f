"""Agents of other libraries play through the service: four turns with three tool calls, and one training step."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from gymposium.http.client import Server, Session
from gymposium.tasks.tools import Call
from gymposium_agents.chat.chat import Chat

from .scripted import ServedSession, served
from .test_source import free_port, make_config, served as served_run

AGENTS = Path(__file__).with_name("agents")
PYTHON = os.environ.get("GYMPOSIUM_AGENT_PYTHON")
"""The Python of an environment with the library of the tests that are chosen."""
NODE_MODULES = os.environ.get("GYMPOSIUM_NODE_MODULES")
"""The `node_modules` of an environment with the packages from npm."""
CONTEXT = 32_768
"""Number of tokens of the model's context. The instructions of smolagents and coding agents are long."""
WORDS = "abc"
PROTOCOLS = ("chat", "responses", "messages")
CODING = ("claude-code", "codex")
FROM_NPM = ("openai-node", "openai", "anthropic", "ai-sdk", *(f"vercel-ai {protocol}" for protocol in PROTOCOLS))
SIMPLE = (
    *FROM_NPM,
    "openai-python",
    *(f"{name} {protocol}" for name in ("litellm", "pydantic-ai", "langgraph") for protocol in PROTOCOLS),
    *(f"openai-agents {protocol}" for protocol in PROTOCOLS[:2]),
)
OTHERS = ("pydantic-ai-output", "smolagents", "smolagents-code", "smolagents-tools", "mini-swe-agent", "aider")


@pytest.fixture(autouse=True)
def needs_library(request: pytest.FixtureRequest) -> None:
    """Skip the tests of agents whose libraries are not installed."""
    from_npm = request.node.callspec.params.get("agent") in (*FROM_NPM, *CODING)
    if (NODE_MODULES if from_npm else PYTHON) is None:
        pytest.skip("needs other libraries: tox run -m peers")


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


def run(agent: str, base_url: str, *, stream: bool) -> subprocess.CompletedProcess[str]:
    """Run an agent in the environment of its library. Its name may be followed by a protocol."""
    name, *options = agent.split()
    script = next(AGENTS.glob(f"{name.replace('-', '_')}_agent.*"))
    if script.suffix == ".mjs":  # Node looks for modules beside the script
        command = ["node", shutil.copy(script, Path(str(NODE_MODULES)).parent)]
    else:
        command = [str(PYTHON), "-I", str(script)]
    return subprocess.run(
        [*command, base_url, *options, *(["stream"] if stream else [])],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


def run_coding(agent: str, base_url: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Let a coding agent, which knows nothing of this machine's user, run a command."""
    addresses = {"ANTHROPIC_BASE_URL": base_url.removesuffix("/v1"), "ANTHROPIC_API_KEY": "none"}
    settings = {
        "model": "policy",
        "model_provider": "gymposium",
        "model_providers.gymposium.name": "gymposium",
        "model_providers.gymposium.base_url": base_url,
        "model_providers.gymposium.wire_api": "responses",
        "web_search": "disabled",
    }
    options = [option for name, value in settings.items() for option in ("-c", f'{name}="{value}"')]
    options += ["-c", "agents.enabled=false", "--skip-git-repo-check", "-s", "danger-full-access"]
    command = {
        "claude-code": ["claude", "--model", "policy", "--tools", "Bash", "--allowedTools", "Bash", "-p"],
        "codex": ["codex", "exec", *options],
    }[agent]
    return subprocess.run(
        [f"{NODE_MODULES}/.bin/{command[0]}", *command[1:], "Run echo hello and say what it printed."],
        cwd=directory,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **addresses,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


def play(agent: str, session: ServedSession, *, stream: bool) -> str:
    """Run an agent in the environment of its library, and return what it printed."""
    session.script.context = CONTEXT
    done = run(agent, session.base_url, stream=stream)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("thoughts", [False, True], ids=["plain", "thoughts"])
@pytest.mark.parametrize("agent", SIMPLE)
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


@pytest.mark.parametrize("agent", ["mini-swe-agent"])
def test_coding_episode_is_one_row(
    agent: str,
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
    tmp_path: Path,
) -> None:
    chat = Chat(family_tokenizer("qwen2.5"))
    commands = ["expr 1 + 2", "expr 3 + 3", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo The sum is 6."]
    with served(chat, [called(chat, "bash", command=command) for command in commands], tmp_path) as session:
        assert play(agent, session, stream=False).strip().endswith("The sum is 6.")
        assert session.beginnings() == ["fresh", "grown", "grown"]
        assert session.rows() == 1


@pytest.mark.parametrize("thoughts", ["", "<think>\nhm\n</think>\n\n"], ids=["plain", "thoughts"])
@pytest.mark.parametrize(
    ("agent", "tool", "arguments"),
    [
        ("claude-code", "Bash", {"command": "echo hello", "description": "Say hello"}),
        ("codex", "exec_command", {"cmd": "echo hello"}),
    ],
)
def test_coding_agent_runs_a_command_in_one_row(
    agent: str,
    tool: str,
    arguments: dict[str, str],
    thoughts: str,
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
    tmp_path: Path,
) -> None:
    chat = Chat(family_tokenizer("qwen3" if thoughts else "qwen2.5"), thinking=bool(thoughts))
    replies = [f"{thoughts}{called(chat, tool, **arguments)}", f"{thoughts}It printed hello."]
    with served(chat, replies, tmp_path) as session:
        session.script.context = CONTEXT
        done = run_coding(agent, session.base_url, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "It printed hello." in done.stdout
        assert session.beginnings() == ["fresh", "grown"]
        (result,) = session.turns()[1].messages
        assert (result["role"], "hello" in result["content"]) == ("tool", True)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_aider_writes_a_file(
    stream: bool,
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
    tmp_path: Path,
) -> None:
    chat = Chat(family_tokenizer("qwen2.5"))
    with served(chat, ["sum.py\n```\nprint(1 + 2 + 3)\n```"], tmp_path) as session:
        assert play("aider", session, stream=stream).strip().endswith("print(1 + 2 + 3)")
        assert session.beginnings() == ["fresh"]
        assert session.turns()[0].overridden == ("temperature",)


@pytest.fixture(scope="module")
def untrained(
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A tiny model with random weights and a long context."""
    tokenizer = family_tokenizer("qwen2.5")
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
    )
    directory = tmp_path_factory.mktemp("untrained")
    Qwen2ForCausalLM(config).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


@pytest.mark.parametrize(
    ("agent", "stream"), [*product([*SIMPLE, *OTHERS], [False, True]), *((agent, True) for agent in CODING)]
)
def test_run_trains_a_step_on_sessions(agent: str, stream: bool, untrained: Path, tmp_path: Path) -> None:
    """The model has random weights, so its replies are no answers. Libraries that insist on one give up."""
    port, prompting = free_port(), {"max_tokens": 8}
    config = make_config(untrained, port, steps=1, rollout={"group_size": 2}, prompting=prompting)
    said: list[str] = []

    def play_session(session: Session[Server]) -> float:
        if agent in CODING:
            done = run_coding(agent, session.base_url, tmp_path)
        else:
            done = run(agent, session.base_url, stream=stream)
        said.append(done.stdout + done.stderr)
        return float(session.member)

    with served_run(config, tmp_path / "run") as failed, Server(f"http://127.0.0.1:{port}") as server:
        server.play(play_session, groups=1, size=2)
        metrics = server.train()
    assert not failed
    assert metrics["rollout/matches"] == 2, said
    assert not re.search(r"\b(400|BadRequestError|bad_request)\b", "".join(said)), said
