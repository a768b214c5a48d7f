"""Games and worlds as environments of TRL's `environment_factory`: TRL samples, and calls the moves as tools."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from datasets import Dataset  # type: ignore[import-untyped]

from gymposium.envs.tool_table import MOVE, ToolTable
from gymposium.errors import BadOption, UnratedGroup
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import load_game
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_opponents
from gymposium.players.protocol import Player
from gymposium.records import RecordWriter
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.grammar import make_reward
from gymposium.tasks.tools import Call, Tool, list_tools
from gymposium.util.streams import derive_seed
from gymposium.util.writable import check_writable
from gymposium_trl.prompts import list_matches

_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict[str, Any],
}
"""Type hints for the types of JSON schemas, which TRL's chat templates read back."""
_RESERVED = ("reset", "get_reward")
"""Methods that TRL does not offer as tools."""


class EnvironmentFactory:
    """The `environment_factory` of a `GRPOTrainer` for one game or world, with its dataset and reward::

        factory = EnvironmentFactory("goofspiel(num_cards=4)", opponents="mcts-100")
        trainer = GRPOTrainer(
            model=model, processing_class=tokenizer, args=GRPOConfig(...), train_dataset=factory.dataset(256, seed=1),
            environment_factory=factory,
        )

    A game has one tool, `move`. A world has its own tools. TRL samples the replies, with vLLM if `use_vllm` is set, and
    calls the tools. A rollout that stops before the end of its match forfeits it.
    """

    def __init__(
        self,
        game: str | Game,
        *,
        opponents: str | Player | Sequence[str | Player] = "random",
        prompt: Style = "full",
        on_illegal: str | FailurePolicy = "forfeit",
        reward: str = "returns",
        records: str | Path | None = None,
    ) -> None:
        """The arguments are as for `Rollout`. A reward must rate each match separately.

        Raises `BadOption` and `UnknownName` for invalid arguments, and for a tool that TRL cannot call."""
        self.game = load_game(game) if isinstance(game, str) else game
        self.prompt = prompt
        self.on_illegal = on_illegal if isinstance(on_illegal, FailurePolicy) else FailurePolicy.parse(on_illegal)
        self.reward = make_reward(reward)
        self.opponents: list[Player] = make_opponents(opponents, self.game.seats - 1)
        self.records = None if records is None else check_writable("records", Path(records))
        self._numbers = count()
        tools = list_tools(self.game) or (MOVE,)
        for tool in tools:
            if tool.name in _RESERVED or tool.name.startswith("_") or not tool.name.isidentifier():
                raise BadOption(f"{self.game.name}: TRL cannot offer the tool {tool.name!r}. Rename it.")
        # TRL finds tools among the functions of the class, and logs the reward under the name of the class
        self._class = type(self.game.name, (MatchEnvironment,), {tool.name: _make_method(tool) for tool in tools})

    def __call__(self) -> MatchEnvironment:
        """Return a new environment, which TRL resets for each match."""
        environment: MatchEnvironment = self._class(self)
        return environment

    def dataset(
        self, size: int, *, seed: int, seats: int | Iterable[int] | None = None, environment: str | None = None
    ) -> Dataset:
        """Return a dataset of `size` matches, as `Rollout.dataset`. With several environments in one run, `environment`
        is the factory's name in the trainer's dict. Concatenate the datasets of the factories.

        Raises `BadOption` for a size below 1, and for invalid seats."""
        matches = list_matches(self.game, size, seed, seats)
        columns: dict[str, list[Any]] = {
            "prompt": [[{"role": "user", "content": ""}]] * size,
            "seat": [match.seat for match in matches],
            "seed": [match.seed for match in matches],
        }
        return Dataset.from_dict(columns | ({} if environment is None else {"environment": [environment] * size}))

    def open_table(self, seed: int, seat: int) -> ToolTable:
        """Return the table of a new match, where TRL's model has this seat."""
        name = f"trl-{os.environ.get('RANK', '0')}-{next(self._numbers)}"
        return ToolTable(
            self.game,
            seat,
            self.opponents,
            match_id=name,
            name="trl",
            seed=seed,
            player_seed=derive_seed(seed, name),
            prompt=self.prompt,
            on_illegal=self.on_illegal,
        )


class MatchEnvironment:
    """A match that TRL plays by calling tools. `EnvironmentFactory` makes a class with the tools of its game."""

    def __init__(self, factory: EnvironmentFactory) -> None:
        self._factory = factory
        self._table: ToolTable | None = None

    def reset(self, seed: int | None = None, seat: int = 0, **row: object) -> str:
        """Begin the match of a dataset row, and return the prompt.

        Raises `BadOption` for a row without a seed, because GRPO compares matches with the same deal."""
        if seed is None:
            raise BadOption(
                "The rows of the dataset have no seed. Give the trainer train_dataset=factory.dataset(...)."
            )
        if self._table is not None:
            self._table.close()
        self._table = self._factory.open_table(seed, seat)
        return self._table.show()

    def get_reward(self) -> float | None:
        """Return the match's reward, and record the match. None excludes a match that broke off, that another seat
        forfeited, or that had no turn of this seat."""
        table = self._require_table()
        played = table.finish()
        if self._factory.records is not None:
            with RecordWriter(self._factory.records, wait=True) as writer:
                writer.write(played)
        trajectory = Trajectory.from_match(played, table.seat)
        if trajectory.ending.broke_off or trajectory.ending.seat not in (None, table.seat) or not trajectory.turns:
            return None
        [rated] = self._factory.reward.rate([[trajectory]])
        if isinstance(rated, UnratedGroup):
            warnings.warn(f"A match could not be rated. {rated}", stacklevel=2)
            return None
        return rated[0].total

    def _call(self, call: Call) -> str:
        return self._require_table().call(call)

    def _require_table(self) -> ToolTable:
        if self._table is None:
            raise BadOption("The environment has no match yet. Call reset(seed=...) first.")
        return self._table


def _make_method(tool: Tool) -> Callable[..., str]:
    """Return the method that calls a tool, with a signature and a docstring that chat templates read."""

    def method(self: MatchEnvironment, **arguments: Any) -> str:
        return self._call(Call(tool.name, arguments))

    described: Mapping[str, Any] = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    hints = {name: _find_hint(schema) for name, schema in described.items()}
    method.__name__ = method.__qualname__ = tool.name
    method.__annotations__ = {**hints, "return": str}
    kinds = inspect.Parameter
    order = sorted(hints, key=lambda name: name not in required)
    method.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            kinds("self", kinds.POSITIONAL_OR_KEYWORD),
            *(
                kinds(name, kinds.KEYWORD_ONLY, annotation=hints[name])
                if name in required
                else kinds(name, kinds.KEYWORD_ONLY, annotation=hints[name], default=described[name].get("default"))
                for name in order
            ),
        ],
        return_annotation=str,
    )
    about = "".join(f"\n    {name}: {_describe(described[name], name)}" for name in order)
    method.__doc__ = " ".join(tool.description.split()) + (f"\n\nArgs:{about}\n" if about else "")
    return method


def _find_hint(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if kind is None and schema.get("enum"):
        kind = {str: "string", int: "integer", float: "number", bool: "boolean"}.get(type(schema["enum"][0]))
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return list[_find_hint(schema["items"])]  # type: ignore[misc]
    return _TYPES.get(kind, Any) if isinstance(kind, str) else Any


def _describe(schema: Mapping[str, Any], name: str) -> str:
    text = " ".join(str(schema.get("description", f"the {name}")).split())
    choices = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    return f"{text} (choices: {json.dumps(choices)})" if choices else text
