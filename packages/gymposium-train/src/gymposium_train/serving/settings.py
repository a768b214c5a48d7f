"""Settings of the source `sessions`. Config checks import this module, so it imports nothing heavy."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymposium_train.config.source import SourceSettings


class SessionSettings(SourceSettings):
    """Sessions of agents that use the model over HTTP, in other processes or on other machines."""

    kind: Literal["sessions"] = "sessions"
    """Where trajectories come from."""
    host: str = "127.0.0.1"
    """The address to listen on. All addresses except loopback need a token in the environment variable
    GYMPOSIUM_SERVE_TOKEN."""
    port: int = Field(default=8750, ge=0, le=65535)
    """The port to listen on. 0 uses any free port."""
    names: tuple[str, ...] = ()
    """Further host names that clients use for the server."""
    groups: int | None = Field(default=None, ge=1)
    """Number of complete groups that begin a training step. By default, a step begins only when a client requests
    it."""
    run: str | None = None
    """A command that runs an agent once, such as `python my_agent.py`. The run starts it for each session, with the
    session's address in the environment variables OPENAI_BASE_URL and ANTHROPIC_BASE_URL, so that agents with these
    clients need no change. Each step takes `groups` groups. Needs `scores`."""
    scores: str | None = None
    """The function that computes the reward of a session of `run`: `my_package.rewards:score` or `rewards.py:score`. It
    gets a `gymposium_train.serving.commands.CommandResult`. It returns a number, or a mapping with `reward` and other
    fields for ending a session."""
    strict: bool = False
    """Whether requests are refused that ask for another way of sampling, such as `top_p`. By default, the run overrides
    these fields, and the answer's header `X-Gymposium-Overridden` lists them."""
    at_once: int = Field(default=16, ge=1)
    """Maximum number of concurrent commands."""
    most_groups: int = Field(default=1024, ge=1)
    """Maximum number of complete groups that wait for a step. At the maximum, clients must wait before they begin
    further groups."""
    most_sessions: int = Field(default=1024, ge=1)
    """Maximum number of open sessions."""
    expires: float = Field(default=3600.0, gt=0.0)
    """Seconds without a request before a session expires. It is then left out of its group."""
