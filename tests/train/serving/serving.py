"""A service over a small model, for tests: its sessions are played without HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from gymposium.runs.sessions import SessionRow, SessionsFile
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.players.player import LanguageModelPlayer, make_engine_player
from gymposium_agents.serving.requests import CompletionRequest
from gymposium_agents.serving.turns import ServedTurn
from gymposium_train.serving.bodies import BeginRequest, EndRequest
from gymposium_train.serving.learner import Policies
from gymposium_train.serving.service import Service, make_service
from gymposium_train.serving.settings import SessionSettings

CLIENT = "test/1"


def make_player(tiny: LoadedModel) -> LanguageModelPlayer:
    return make_engine_player("lm:tiny", tiny.engine(), tiny.chat, PlayerSettings(temperature=1.0, max_tokens=6))


def service_in(
    directory: Path,
    player: LanguageModelPlayer,
    *,
    staleness: int = 0,
    group_size: int = 2,
    step: int = 0,
    **settings: Any,
) -> Service:
    """The service of a run that waits for the job of a step."""
    policies = Policies(lambda: player, lambda policy: player, staleness)
    file = SessionsFile(directory / "sessions.sqlite")
    service = make_service(file, policies, SessionSettings(**settings), seed=7, group_size=group_size)
    service.learner.step = step
    return service


def begin(service: Service, group: str | None = None, member: int | None = None, **more: Any) -> tuple[SessionRow, str]:
    """Begin a session; returns it and its secret."""
    begun = service.sessions.begin(BeginRequest.read({"group": group, "member": member, **more}), CLIENT)
    return begun.row, begun.secret


def say(service: Service, secret: str, *texts: str, again: bool = False) -> ServedTurn:
    """Send messages of the user and of the assistant in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    request = CompletionRequest.read({"messages": messages})
    return asyncio.run(service.sessions.answering(secret, CLIENT).complete(request, again=again))


def end(service: Service, row: SessionRow, reward: float, **more: Any) -> SessionRow:
    return service.sessions.end(row.id, EndRequest.read({"reward": reward, **more}))


def played(service: Service, group: str, member: int, reward: float) -> SessionRow:
    """A session of one turn that has ended."""
    row, secret = begin(service, group, member)
    say(service, secret, f"{group} {member}")
    return end(service, row, reward)


def never() -> None:
    """What a service calls while it waits, where it must not wait."""
    raise AssertionError("the service waits")
