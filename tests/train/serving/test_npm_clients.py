"""Clients and coding agents from npm play through the service."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gymposium.tasks.tools import Call
from gymposium_agents.chat.chat import Chat

from .scripted import CALLS, GROWN, Serve, ServedSession

NODE_MODULES = os.environ.get("GYMPOSIUM_NODE_MODULES")
"""The `node_modules` of an environment with the packages."""
CONTEXT = 400_000
"""Number of tokens of the model's context. The instructions of coding agents are long."""

pytestmark = pytest.mark.skipif(NODE_MODULES is None, reason="needs packages from npm: tox run -e npm")


def write_replies(chat: Chat, calls: list[Call], text: str) -> list[str]:
    """Replies with these calls, and then a text."""
    assert chat.dialect is not None
    thoughts = "<think>\nhm\n</think>\n\n" if chat.thinking else ""
    return [*(f"{thoughts}{chat.dialect.write([call])}" for call in calls), f"{thoughts}{text}"]


def run(command: list[str], directory: Path, **environment: str) -> str:
    """Run a command of an agent that knows nothing of this machine's user, and return what it printed."""
    kept = {"PATH": os.environ["PATH"], "HOME": str(directory), **environment}
    done = subprocess.run(
        command,
        cwd=directory,
        env=kept,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("chat", ["qwen2.5", "qwen3"], indirect=True)
@pytest.mark.parametrize(
    "agent", ["anthropic", "openai", "vercel_ai chat", "vercel_ai responses", "vercel_ai messages"]
)
def test_episode_is_one_row(agent: str, stream: bool, serve: Serve, chat: Chat, tmp_path: Path) -> None:
    name, *options = agent.split()
    script = shutil.copy(Path(__file__).with_name("agents") / f"{name}_agent.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(str(NODE_MODULES))
    with serve(*write_replies(chat, CALLS, "The sum is 6.")) as session:
        command = ["node", str(script), session.base_url, *options, *(["stream"] if stream else [])]
        assert "The sum is 6." in run(command, tmp_path)
        assert session.beginnings() == GROWN
        assert session.rows() == 1


def run_claude(session: ServedSession, task: str, directory: Path) -> str:
    command = [f"{NODE_MODULES}/.bin/claude", "-p", task, "--model", "policy", "--allowedTools", "Bash"]
    return run(
        command,
        directory,
        ANTHROPIC_BASE_URL=session.base_url.removesuffix("/v1"),
        ANTHROPIC_API_KEY="none",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )


def run_codex(session: ServedSession, task: str, directory: Path) -> str:
    settings = {
        "model": "policy",
        "model_provider": "gymposium",
        "model_providers.gymposium.name": "gymposium",
        "model_providers.gymposium.base_url": session.base_url,
        "model_providers.gymposium.wire_api": "responses",
    }
    options = [option for name, value in settings.items() for option in ("-c", f'{name}="{value}"')]
    options += ["-c", "agents.enabled=false", "-c", 'web_search="disabled"', "--skip-git-repo-check"]
    return run([f"{NODE_MODULES}/.bin/codex", "exec", *options, "-s", "danger-full-access", task], directory)


@pytest.mark.parametrize(
    ("agent", "call"),
    [
        (run_claude, Call("Bash", {"command": "echo hello", "description": "Say hello"})),
        (run_codex, Call("exec_command", {"cmd": "echo hello"})),
    ],
    ids=["claude-code", "codex"],
)
def test_coding_agent_runs_a_command_in_one_row(
    agent: object, call: Call, serve: Serve, chat: Chat, tmp_path: Path
) -> None:
    assert callable(agent)
    with serve(*write_replies(chat, [call], "It printed hello.")) as session:
        session.script.context = CONTEXT
        assert "It printed hello." in agent(session, "Run echo hello and say what it printed.", tmp_path)
        assert session.beginnings() == ["fresh", "grown"]
        (result,) = session.turns()[1].messages
        assert (result["role"], "hello" in result["content"]) == ("tool", True)
