"""The game `mail`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymposium import GameSpec
from gymposium.errors import BadParameter
from gymposium.tasks import Tasks, ToolGame, tool_game
from gymposium_worlds.mail.given import FileTasks
from gymposium_worlds.mail.tasks import MailTasks


def game(spec: GameSpec, params: Mapping[str, Any]) -> ToolGame:
    """Make the game. Raises `BadParameter` if `inbox` is combined with parameters of generated mailboxes."""
    return tool_game(spec, params, _make_tasks(spec.drop_defaults(params), **params))


def _make_tasks(given: Mapping[str, Any], *, inbox: str, questions: str, max_calls: int, **generated: Any) -> Tasks:
    if not inbox and not questions:
        return MailTasks(max_calls=max_calls, **generated)
    if changed := [name for name in given if name in generated]:
        raise BadParameter(f"{changed[0]} applies only to generated mailboxes. Omit it when you name an inbox.")
    return FileTasks(inbox, questions, max_calls)
