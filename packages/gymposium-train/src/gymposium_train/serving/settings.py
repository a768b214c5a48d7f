"""Settings of the source `sessions`. This module imports nothing heavy, since configs are checked with it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymposium_train.config.source import SourceSettings


class SessionSettings(SourceSettings):
    """Sessions of agents that use the model over HTTP, in other processes or on other machines."""

    kind: Literal["sessions"] = "sessions"
    """Where trajectories come from."""
    host: str = "127.0.0.1"
    """The address to listen on. All but loopback addresses need a token, from the environment variable
    GYMPOSIUM_SERVE_TOKEN."""
    port: int = Field(default=8750, ge=0, le=65535)
    """The port to listen on; 0 takes any free port."""
    names: tuple[str, ...] = ()
    """Further names by which clients reach the server."""
    groups: int | None = Field(default=None, ge=1)
    """Number of complete groups that begin a step of training. By default a step begins only when a client asks for
    it."""
    run: str | None = None
    """A command that runs an agent once, such as `python my_agent.py`. The run starts it for each session, with the
    session's address in the environment variable OPENAI_BASE_URL, so that an agent that uses OpenAI's client needs no
    change. It takes `groups` groups for each step. Needs `scores`."""
    scores: str | None = None
    """The function that gives the reward of such a session: `my_package.rewards:score` or `rewards.py:score`. It gets a
    `gymposium_train.serving.commands.Ran`, and returns a number, or a mapping with `reward` and more of what ends a
    session."""
    at_once: int = Field(default=16, ge=1)
    """Maximum number of such commands at once."""
    most_groups: int = Field(default=1024, ge=1)
    """Maximum number of complete groups that wait for a step. Clients must then wait before they begin others."""
    most_sessions: int = Field(default=1024, ge=1)
    """Maximum number of open sessions."""
    expires: float = Field(default=3600.0, gt=0.0)
    """Number of seconds without a request after which a session expires. It is then left out of its group."""
