"""The game: one episode of a remote environment is one single-seat match."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from gymposium import GameSpec
from gymposium.errors import BadRecord, GymposiumError
from gymposium.games.protocol import Event, Style
from gymposium.tasks.one_seat import get_first_event
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import is_encodable
from gymposium_openenv.actions import Actions
from gymposium_openenv.connection import Address
from gymposium_openenv.example import start_example_server
from gymposium_openenv.match import OpenEnvMatch


class OpenEnvGame:
    """A game provided by a server. Immutable. New matches and rules query the server; replays do not."""

    seats = 1
    num_actions = 0
    tensor_shape: tuple[int, ...] | None = None
    move_pattern: re.Pattern[str] | None = None

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], record: Sequence[Event] | None = None) -> None:
        """With `record`, new matches take their answers from these events instead of the server."""
        self.spec = spec
        self.params: Mapping[str, Any] = MappingProxyType(dict(params))
        self.name = spec.full_name(params)
        self.record = None if record is None else tuple(record)
        self.utility_range = (float(params["min_return"]), float(params["max_return"]))
        self.max_decisions: int = params["max_steps"]

    @cached_property
    def address(self) -> Address:
        """The server's address; the example's if none is given."""
        return Address(self.params["url"] or start_example_server(), self.params["token"])

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """The environment's description from the server or the record: an action's `schema`, and `description`."""
        if self.record is not None:
            return parse_description(get_first_event(self.record))
        schema = self.address.read("/schema").get("action")
        described = str(self.address.read("/metadata").get("description", ""))
        try:
            Actions(schema)
        except ValueError as error:
            raise GymposiumError(f"{self.address.url}/schema: {error}. Fix the server's schema.") from error
        return {"schema": schema, "description": " ".join(described.split())}

    @cached_property
    def actions(self) -> Actions:
        """The actions of the environment."""
        return Actions(self.about["schema"])

    def __reduce__(self) -> tuple[Any, ...]:
        from gymposium.games.registry import load_game, load_recorded_game

        return (load_game, (self.name,)) if self.record is None else (load_recorded_game, (self.name, self.record))

    def __deepcopy__(self, memo: dict[int, Any]) -> OpenEnvGame:
        return self  # immutable

    def rules(self, seat: int, style: Style = "full") -> str:
        described, (least, most) = self.about["description"], self.utility_range
        if style == "compact":
            return f"{self.actions.describe(style)}steps {self.max_decisions}; return {least:g} to {most:g}\n"
        head = f"{described}\n" if described else ""
        end = f"You have {self.max_decisions} steps. Your return is the sum of rewards, from {least:g} to {most:g}."
        return f"{head}{self.actions.describe(style)}{end}\n"

    def new(self, seed: int) -> OpenEnvMatch:
        return OpenEnvMatch(self, seed)

    def load(self, events: Sequence[Event], seed: int | None = None) -> OpenEnvMatch:
        if not events:
            raise BadRecord("The record is empty. A record of an environment begins with its first observation.")
        return OpenEnvMatch(self, seed, events)

    @property
    def pure(self) -> bool:
        return False

    def recorded(self, events: Sequence[Event]) -> OpenEnvGame:
        return OpenEnvGame(self.spec, self.params, events)


def parse_description(event: Event) -> Mapping[str, Any]:
    """Return the environment's description from a match's first event. Raises `BadRecord` for an event without one."""
    try:
        about = parse_strict_json(event.move)["about"]
        schema, described = about["schema"], str(about["description"])
        Actions(schema)
        if not is_encodable(json.dumps([schema, described], ensure_ascii=False)):
            raise ValueError("half of a surrogate pair")
        return {"schema": schema, "description": described}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadRecord(f"Event 0 must be the first observation of an environment, not {event.move[:80]!r}.") from error
