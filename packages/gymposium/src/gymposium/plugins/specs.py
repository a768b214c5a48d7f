"""Specs: the frozen descriptions that plugins yield. Their implementations are imported on use.

An entry point is written `"package.module:attribute"`. Specs compare by identity: a process has one of each, and
generated methods would slow down every import.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal, SupportsIndex
from urllib.parse import unquote_plus

from gymposium.errors import BadParameter, UnknownName
from gymposium.plugins.field_types import check_fields
from gymposium.plugins.names import format_name

_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9_]*")
_NAMESPACE = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)
_ENTRY_POINT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def resolve(entry_point: str) -> Any:
    """Import the object that `"module:attribute"` names. All exceptions propagate; `Host.implementation` explains
    them."""
    module, _, attribute = entry_point.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _check_entry_point(owner: str, entry_point: str) -> None:
    if not _ENTRY_POINT.fullmatch(entry_point):
        raise ValueError(f"{owner}: entry_point {entry_point!r} is not of the form 'package.module:attribute'")


@dataclass(frozen=True, kw_only=True, eq=False)
class Parameter:
    """One typed parameter of a game, with its allowed values.

    `default` decides the type (bool, int, float or str). Numbers may have `low` and `high` (both
    included); `choices` lists all allowed values instead.
    """

    name: str
    default: bool | int | float | str
    help: str
    low: int | float | None = None
    high: int | float | None = None
    choices: tuple[bool | int | float | str, ...] | None = None
    by_players: Mapping[int, bool | int | float | str] = field(default_factory=dict)
    """The defaults for values of the parameter `players` where they differ from `default`: `{4: 4, 5: 4}`."""
    opens: str = ""
    """Noun for the thing that the game opens for a value other than the default: `a file`. A record, suite or config,
    which may come from anyone, may give such a value only if the user allows it (`gymposium --allow`)."""
    is_variable: bool = False
    """True if the value is the name of an environment variable whose value is sent. Files may name only variables that
    the user allows (`gymposium --allow-env`)."""

    def __post_init__(self) -> None:
        owner = f"parameter {self.name}"
        check_fields(owner, self)
        if not self.name.isidentifier():
            raise ValueError(
                f"parameter name {self.name!r} must be an identifier; the game is made with it as a keyword"
            )
        kind = type(self.default)
        if kind not in (int, float) and (self.low is not None or self.high is not None):
            raise ValueError(f"{owner}: low and high are for numbers, but default={self.default!r}")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"{owner}: low={self.low!r} must not be greater than high={self.high!r}")
        for value in (*(self.choices or ()), *self.by_players.values()):
            if type(value) is not kind:
                raise ValueError(f"{owner}: {value!r} must be of type {kind.__name__}, as default={self.default!r} is")
        for value in (self.default, *self.by_players.values()):
            self.check(value)

    def default_in(self, given: Mapping[str, Any]) -> bool | int | float | str:
        """Return the default beside these parameters, which depends on the number of players in some games."""
        return self.by_players.get(given.get("players", 0), self.default)

    def check(self, value: Any) -> Any:
        """The value converted to the type of the parameter; text such as `"8"` is parsed. Raises `BadParameter`."""
        value = self._convert(value)
        if isinstance(value, float) and not math.isfinite(value):
            raise BadParameter(f"{self.name}={value!r}: must be a finite number.")
        if self.choices is not None and value not in self.choices:
            raise BadParameter(f"{self.name}={value!r}: must be one of {', '.join(map(str, self.choices))}.")
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise BadParameter(f"{self.name}={value!r}: must be {self.allowed()}.")
        return value

    def _convert(self, value: Any) -> Any:
        kind = type(self.default)
        with suppress(ValueError):
            match value:
                case _ if type(value) is kind:
                    return value
                case str() if kind is bool and value.lower() in ("true", "false"):
                    return value.lower() == "true"
                case str() if kind in (int, float):
                    return kind(value)
                case int() | float() if kind is float and not isinstance(value, bool):
                    return float(value)  # also NumPy's float64
                case SupportsIndex() if kind is int and not isinstance(value, bool):
                    return int(value)  # NumPy integers
        raise BadParameter(f"{self.name}={value!r}: must be of type {kind.__name__}.")

    def allowed(self) -> str:
        """The allowed values in words."""
        if self.choices is not None:
            return "one of " + ", ".join(map(str, self.choices))
        match self.low, self.high:
            case None, None:
                return f"any {type(self.default).__name__}"
            case low, None:
                return f"{low:g} or more"
            case None, high:
                return f"{high:g} or less"
            case low, high:
                return f"from {low:g} to {high:g}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Spec:
    """Base class of all specs."""

    kind: ClassVar[str]
    """The kind of thing that the spec describes, as errors and lists name it: `game`, `player`."""
    name: str
    """The name of the thing, which no other of its kind may have."""
    summary: str
    """One line for lists."""
    entry_point: str
    """`"package.module:attribute"`, the implementation, which is imported on use."""

    def __post_init__(self) -> None:
        owner = f"{self.kind} {self.name}"
        check_fields(owner, self)
        _check_entry_point(owner, self.entry_point)


Information = Literal["perfect", "imperfect"]
Dynamics = Literal["sequential", "simultaneous"]
Utility = Literal["zero_sum", "general_sum", "cooperative", "score"]
ToolResults = Literal["", "pure", "recorded"]


@dataclass(frozen=True, kw_only=True, eq=False)
class GameSpec(Spec):
    """A game that a plugin offers. `entry_point` resolves to `(spec, params) -> Game`. `name` is a lower-case
    identifier, and the name in OpenSpiel if it has the game: `tic_tac_toe`."""

    kind = "game"
    title: str
    """The name of the game for people: `Tic-tac-toe`."""
    seats: int = 2
    """Number of seats. If the game has a parameter named `players`, that parameter decides, and this is its default."""
    seat_names: tuple[str, ...] = ()
    """The names of the seats in the rules, one for each: `("Black", "White")`, `("x", "o")`. Pages show them, and give
    a seat whose name begins with Black or White that colour. Empty if the rules have no names for the seats."""
    parameters: tuple[Parameter, ...] = ()
    examples: tuple[Mapping[str, Any], ...] = ({},)
    """Parameter sets with which the game is tested, the defaults first."""
    information: Information = "perfect"
    dynamics: Dynamics = "sequential"
    chance: bool = False
    utility: Utility = "zero_sum"
    free_text: bool = False
    tools: ToolResults = ""
    """Not empty if moves are calls of tools, and chance events hold the hidden task and what tools returned
    (`gymposium.tasks`). Then `free_text` is True, too.

    - `pure`: what tools return follows from the task and the calls alone. Records are verified by calling them again.
    - `recorded`: it does not, for example because a server is asked. The environment is not deterministic, records hold
      the tools, too, and a replay takes the results from the record."""
    recorded: bool = False
    """True for a game without tools whose matches ask something that may answer otherwise another time, as a server.
    The environment is then not deterministic, and a replay takes the answers from the record (`Recorded`)."""
    replay: str = ""
    """`module:function` that resolves to `(spec, params, events) -> Game` and makes the game of a record from its
    events alone. It opens nothing, so records of the game are replayed without the user's permission. Empty if a replay
    needs what the parameters open."""
    after_colon: str = ""
    """Name of a text parameter that may be written behind the name of the game and a colon: `openenv:http://…`."""
    unsearchable: str = ""
    """Why players that search must not play the game, as the end of a sentence: `its deals are too large …`. They
    refuse with this reason. Empty if they may."""
    best_play: str = ""
    """Known facts about best play, in sentences, with sources. For people: no prompt shows it."""
    version: int = 0
    """Increased when rules or rewards change. Changes of wording increase the prompt version instead."""
    namespace: str = ""
    """The namespace of the environment id, which third parties set to their name: `theirname/TextFoo-v0`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _IDENTIFIER.fullmatch(self.name):
            raise ValueError(f"game name {self.name!r} must be lower-case letters, digits and underscores")
        if self.seats < 1:
            raise ValueError(f"game {self.name}: seats must be 1 or more, not {self.seats}")
        if self.utility == "score" and self.seats > 1:
            raise ValueError(f"game {self.name}: utility='score' is for one seat, not {self.seats}; say 'general_sum'")
        if self.version < 0:
            raise ValueError(f"game {self.name}: version must be 0 or more, not {self.version}")
        if self.namespace and not _NAMESPACE.fullmatch(self.namespace):
            raise ValueError(
                f"game {self.name}: namespace={self.namespace!r} must be letters, digits, underscores and hyphens"
            )
        if len(self.seat_names) not in (0, self.seats):
            raise ValueError(f"game {self.name}: seat_names must name all {self.seats} seats, or none")
        names = [parameter.name for parameter in self.parameters]
        if duplicates := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"game {self.name}: duplicate parameter {', '.join(duplicates)}")
        for example in self.examples:
            self.check_params(example)
        players = next((one for one in self.parameters if one.name == "players"), None)
        if players is not None and (type(players.default) is not int or players.default != self.seats):
            raise ValueError(
                f"game {self.name}: seats={self.seats} must be the default of its parameter players, "
                f"{players.default!r}"
            )
        if players is not None:
            fewest = players.low if players.choices is None else min(map(int, players.choices))
            if fewest is None or fewest < 1:
                raise ValueError(f"game {self.name}: its parameter players must allow 1 or more only, not {fewest!r}")
        texts = [parameter.name for parameter in self.parameters if isinstance(parameter.default, str)]
        if self.after_colon and self.after_colon not in texts:
            raise ValueError(
                f"game {self.name}: after_colon={self.after_colon!r} must name a text parameter, one of {texts}"
            )
        if self.replay:
            _check_entry_point(f"replay of game {self.name}", self.replay)
        if self.tools and not self.free_text:
            raise ValueError(f"game {self.name}: tools={self.tools!r} needs free_text=True")

    @property
    def env_id(self) -> str:
        """`TextTicTacToe-v0`: the id in Gymnasium and PettingZoo alike."""
        camel = "".join(part[:1].upper() + part[1:] for part in self.name.split("_"))
        prefix = f"{self.namespace}/" if self.namespace else ""
        return f"{prefix}Text{camel}-v{self.version}"

    @property
    def plays_at_random(self) -> bool:
        """True if random players can play: moves are listed, or they are calls of tools."""
        return bool(self.tools) or not self.free_text

    @property
    def seats_in_words(self) -> str:
        """`2`, or the values of the parameter `players`, such as `2 to 6` or `one of 2, 4`."""
        players = next((p for p in self.parameters if p.name == "players"), None)
        return str(self.seats) if players is None else players.allowed().removeprefix("from ")

    def count_seats(self, params: Mapping[str, Any]) -> int:
        """Return the number of seats with these parameters: the parameter `players` if the game has one."""
        return int(params.get("players", self.seats))

    def check_params(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters, with defaults filled in, each in its type. Raises `BadParameter`."""
        known = {p.name: p for p in self.parameters}
        for key in given:
            if key not in known:
                if not known:
                    raise BadParameter(f"{self.name} has no parameters, so {key!r} cannot be given.")
                raise BadParameter(str(UnknownName(f"parameter of {self.name}", key, known)))
        checked = {key: known[key].check(value) for key, value in given.items()}
        return {p.name: checked.get(p.name, p.default_in(checked)) for p in self.parameters}

    def full_name(self, params: Mapping[str, Any]) -> str:
        """The canonical name of the game with these parameters; those equal to their defaults are left out."""
        changed = self.changed(params)
        name = f"{self.name}:{changed.pop(self.after_colon)}" if self.after_colon in changed else self.name
        return format_name(name, changed)

    @property
    def results_are_recorded(self) -> bool:
        """True if a replay takes what was asked for from the record."""
        return self.recorded or self.tools == "recorded"

    def changed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Those of all parameters that differ from their defaults."""
        return {
            p.name: params[p.name]
            for p in self.parameters
            if p.name in params and params[p.name] != p.default_in(params)
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class FormSpec(Spec):
    """Base class of the specs of things that are written as text of a certain form."""

    form: str
    """The form, with placeholders in capitals: `mcts-N`, `weighted(CRITERION=WEIGHT,...)`."""
    pattern: str
    """A regular expression that matches the whole of each text of the form. The implementation is called with its named
    groups as keywords: text, or None for a group that did not take part."""
    examples: tuple[str, ...] = ()
    """Texts of the form that `gymposium plugins check` tries. A form without placeholders needs none."""
    opens: str = ""
    """Noun for the thing that the text opens: `a file`, `the terminal`. Suites, entries and configs, which may come
    from anyone, may hold such a text only if the user allows it (`gymposium --allow`)."""
    opens_where: str = ""
    """A regular expression that occurs in the texts to which `opens` applies; by default, it applies to all texts."""
    variable: str = ""
    """A regular expression with one group: the name of an environment variable in the text whose value is sent. Files
    may name only variables that the user allows (`gymposium --allow-env`)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("pattern", "opens_where", "variable"):
            try:
                groups = re.compile(getattr(self, name)).groups
            except re.error as error:
                raise ValueError(
                    f"{self.kind} {self.name}: {name}={getattr(self, name)!r} is not a regular expression ({error})"
                ) from None
            if name == "variable" and self.variable and groups != 1:
                raise ValueError(f"{self.kind} {self.name}: variable={self.variable!r} must have one group")

    def opened(self, text: str) -> str:
        """What a text of this form opens, as a noun; empty if it opens nothing."""
        return self.opens if self.opens and re.search(self.opens_where, unquote_plus(text)) else ""

    def variables(self, text: str) -> list[str]:
        """The environment variables in a text of this form."""
        return re.findall(self.variable, unquote_plus(text)) if self.variable else []

    def parse(self, text: str) -> dict[str, str | None] | None:
        """The named groups of `text`, or None if it is not of this form."""
        groups = re.fullmatch(self.pattern, text)
        return None if groups is None else groups.groupdict()


DISGUISE: Final = Parameter(
    name="disguise",
    default=0,
    low=0,
    high=999_999,
    help="Seed of other words, names and layout over the same game; 0 for the usual ones.",
)
"""The parameter of each game that has a `DisguiseSpec`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DisguiseSpec(Spec):
    """A disguise of a game that a plugin offers: the same game in other words. `name` is the name of the game, which
    gets the parameter `disguise`. `entry_point` resolves to a callable that takes the plain game and the seed of the
    disguise, and returns the disguised game."""

    kind = "disguise"
    example: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the game in the example of its disguise, so that it is small."""

    def apply(self, game: GameSpec) -> GameSpec:
        """Return the spec of the game with the parameter `disguise` and an example of it."""
        if DISGUISE in game.parameters:
            return game
        example = {**self.example, DISGUISE.name: 7}
        return replace(game, parameters=(*game.parameters, DISGUISE), examples=(*game.examples, example))

    def remove(self, game: GameSpec) -> GameSpec:
        """Return the spec of the game as it was before `apply`."""
        return replace(game, parameters=game.parameters[:-1], examples=game.examples[:-1])


@dataclass(frozen=True, kw_only=True, eq=False)
class OpponentSpec(FormSpec):
    """A kind of player that a plugin offers. `entry_point` resolves to a callable that takes the named groups of
    `pattern` as keywords and returns a `Player`."""

    kind = "player"
    placeholders: str = ""
    """The meaning of the capital letters in the form, as the end of a sentence: `with N from 1 to 1000`. It ends the
    error for a text that begins like the form and does not match."""
    games: tuple[str, ...] = ()
    """Names of the games in whose default form people are offered the player; () for all games."""
    offered: tuple[str, ...] = ()
    """Texts of the form that people are offered to play against, if it has placeholders."""

    def offers(self) -> dict[str, str]:
        """Texts that people are offered to play against, each with the summary for it: `mcts-25` for `mcts-N`.

        There are none for a player that opens something."""
        if self.opens:
            return {}
        if self.fixed_part:
            return {text: self._summary_of(text) for text in self.offered}
        return {self.form: self.summary}

    def _summary_of(self, text: str) -> str:
        """The summary with the placeholders' values in a text of the form."""
        pattern = re.sub(r"\\?[A-Z]+", "(.+)", re.escape(self.form))
        match = re.fullmatch(pattern, text)
        values = dict(zip(re.findall(r"[A-Z]+", self.form), match.groups() if match else ()))
        return re.sub(r"\b[A-Z]+\b", lambda word: values.get(word[0], word[0]), self.summary)

    @property
    def fixed_part(self) -> str:
        """The form up to its first placeholder: `mcts-`. Empty if it has no placeholder."""
        prefix = re.match(r"([^A-Z]+)[A-Z]", self.form)
        return "" if prefix is None else prefix[1]


@dataclass(frozen=True, kw_only=True, eq=False)
class RewardSpec(FormSpec):
    """A reward that a plugin offers. `name` is its form without the brackets. `entry_point` resolves to a callable that
    takes the named groups of `pattern` as keywords and returns a function from a group of trajectories to their rewards
    (`gymposium.rewards.protocol.RewardFunction`)."""

    kind = "reward"


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfiguredSpec(Spec):
    """Base class of the specs of things that a training config chooses by name and configures by a settings class."""

    settings: str
    """`"package.module:Class"`, the settings class. It is imported when a config is checked, so its module must import
    nothing heavy."""
    opens: Mapping[str, str] = field(default_factory=dict)
    """Nouns for what settings open if a config gives them: `{"url": "an address", "run": "a command"}`. The empty name
    stands for the thing without any setting. A config file may give such a setting only if the user types or allows it;
    addresses of this machine need no permission."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _IDENTIFIER.fullmatch(self.name):
            raise ValueError(f"{self.kind} name {self.name!r} must be lower-case letters, digits and underscores")
        _check_entry_point(f"settings of {self.kind} {self.name}", self.settings)


@dataclass(frozen=True, kw_only=True, eq=False)
class LoggerSpec(ConfiguredSpec):
    """A logger that a plugin offers: the table `[loggers.NAME]` of a training config. `entry_point` resolves to a
    callable that takes a `gymposium.runs.loggers.protocol.LoggerStart` and the settings, a frozen dataclass whose
    fields are the options of that table, and returns a `gymposium.runs.loggers.protocol.Logger`."""

    kind = "logger"
    needs: str = ""
    """An optional package that the logger imports when it is made. A config that names the logger is refused if the
    package is not installed."""
    install: str = ""
    """The argument of `pip install` for that package; `needs` by default."""
    examples: tuple[Mapping[str, Any], ...] = ()
    """Settings with which `gymposium plugins check` starts it, in a temporary directory and without a network."""


class CreditSpec(ConfiguredSpec):
    """A credit assignment that a plugin offers, from rewards to an advantage for each turn: `credit.kind = NAME` in a
    training config. `entry_point` resolves to a callable that takes the settings, a subclass of
    `gymposium_train.credit.protocol.CreditSettings` whose `kind` is the name, and returns a
    `gymposium_train.credit.protocol.Credit`."""

    kind = "credit"


class ObjectiveSpec(ConfiguredSpec):
    """A policy loss that a plugin offers: `objective.kind = NAME` in a training config. `entry_point` resolves to a
    callable that takes the settings, a subclass of `gymposium_train.objective.protocol.ObjectiveSettings` whose `kind`
    is the name, and returns a `gymposium_train.objective.protocol.Objective`."""

    kind = "objective"


class SourceSpec(ConfiguredSpec):
    """A source of trajectories that a plugin offers: `source.kind = NAME` in a training config. `entry_point` resolves
    to a callable that takes the settings, a subclass of `gymposium_train.config.source.SourceSettings` whose `kind` is
    the name, and a `gymposium_train.rollout.protocol.SourceStart`, and returns a
    `gymposium_train.rollout.protocol.RolloutSource`."""

    kind = "source"


class BackendSpec(ConfiguredSpec):
    """A backend that a plugin offers, which holds the model that learns: `backend.kind = NAME` in a training config.
    `entry_point` resolves to a callable that takes the settings, a subclass of
    `gymposium_train.config.backend.BackendSettings` whose `kind` is the name, and returns a
    `gymposium_train.backends.protocol.Backend`. The callable is imported when a config is checked, so its module must
    import nothing heavy."""

    kind = "backend"


@dataclass(frozen=True, kw_only=True, eq=False)
class EngineSpec(ConfiguredSpec):
    """An engine that samples the replies of a language model, for training runs and for `lm:` players.

    `entry_point` resolves to a callable that takes a `gymposium_agents.engines.protocol.EngineStart` and the settings,
    and returns a `gymposium_agents.engines.protocol.HostingEngine`. Its name stands in a training config (`[engine]`
    with `kind = "NAME"`) and in a player (`lm:MODEL?engine=NAME`)."""

    kind = "engine"
    settings: str = "gymposium.util.settings:NoSettings"
    """`"package.module:Class"`, a frozen dataclass: each field is a setting of `[engine]` and an option of the player.
    It is imported when a config is checked, so its module must import nothing heavy."""
    label: str = ""
    """The name of the engine in the identity of a player; `name` by default."""
    shares_learner: bool = False
    """True if it samples from the learner's own model in memory. Rollouts then cannot overlap updates, and the learner
    must run in one process."""
    backend: str = "local"
    """The backend whose models it plays (`backend.kind`)."""
    all_weights: bool = False
    """True if it can play a model of which all weights are trained (`model.tune = "full"`). The engine must then be a
    `gymposium_agents.engines.transformers.TransformersEngine`. False if it can only load LoRA adapters."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExecutorSpec(Spec):
    """A place where the matches of runs are played: `--executor NAME`. `entry_point` resolves to a callable that takes
    a `gymposium.runs.executors.protocol.ExecutorStart` and returns a `gymposium.runs.executors.protocol.Executor`."""

    kind = "executor"


@dataclass(frozen=True, kw_only=True, eq=False)
class CommandSpec(Spec):
    """A command of `gymposium` that a plugin offers. `entry_point` resolves to a Typer app or a plain function."""

    kind = "command"
    order: int = 100
    """Position in `gymposium --help`, smallest first."""
