"""Specs: frozen descriptions of what plugins offer. Implementations are imported on use.

An entry point has the form `"package.module:attribute"`. Specs compare by identity, because a process has one of each,
and generated comparison methods would slow down every import.
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


def resolve_entry_point(entry_point: str) -> Any:
    """Import the object named by `"module:attribute"`.

    All exceptions propagate; `Host.implementation` explains them."""
    module, _, attribute = entry_point.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _check_entry_point(owner: str, entry_point: str) -> None:
    if not _ENTRY_POINT.fullmatch(entry_point):
        raise ValueError(f"{owner}: entry_point {entry_point!r} must have the form 'package.module:attribute'")


@dataclass(frozen=True, kw_only=True, eq=False)
class Parameter:
    """One typed parameter of a game, with its allowed values.

    `default` determines the type (bool, int, float or str). Numbers may have inclusive bounds `low` and `high`.
    Alternatively, `choices` lists all allowed values.
    """

    name: str
    default: bool | int | float | str
    help: str
    low: int | float | None = None
    high: int | float | None = None
    choices: tuple[bool | int | float | str, ...] | None = None
    by_players: Mapping[int, bool | int | float | str] = field(default_factory=dict)
    """Defaults that depend on the parameter `players`: `{4: 4, 5: 4}`."""
    opens: str = ""
    """What the game opens if the value is not the default, as a noun: `a file`.

    A record, suite or config may come from anyone, so it may set such a value only if the user allows it (`gymposium
    --allow`)."""
    is_variable: bool = False
    """True if the value names an environment variable whose content is sent.

    Files may name only variables allowed by the user (`gymposium --allow-env`)."""

    def __post_init__(self) -> None:
        owner = f"parameter {self.name}"
        check_fields(owner, self)
        if not self.name.isidentifier():
            raise ValueError(
                f"parameter name {self.name!r} must be an identifier, because the game is made with it as a keyword "
                "argument"
            )
        kind = type(self.default)
        if kind not in (int, float) and (self.low is not None or self.high is not None):
            raise ValueError(f"{owner}: low and high need a numeric default, not {self.default!r}")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"{owner}: low={self.low!r} must not be greater than high={self.high!r}")
        for value in (*(self.choices or ()), *self.by_players.values()):
            if type(value) is not kind:
                raise ValueError(f"{owner}: {value!r} must be of type {kind.__name__}, like default={self.default!r}")
        for value in (self.default, *self.by_players.values()):
            self.check(value)

    def get_default(self, given: Mapping[str, Any]) -> bool | int | float | str:
        """Return the default, which may depend on the number of players in these parameters."""
        return self.by_players.get(given.get("players", 0), self.default)

    def check(self, value: Any) -> Any:
        """Convert a value to the parameter's type; text such as `"8"` is parsed.

        Raises `BadParameter` for an invalid value."""
        value = self._convert(value)
        if isinstance(value, float) and not math.isfinite(value):
            raise BadParameter(f"{self.name}={value!r}: must be a finite number.")
        if self.choices is not None and value not in self.choices:
            raise BadParameter(f"{self.name}={value!r}: must be one of {', '.join(map(str, self.choices))}.")
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise BadParameter(f"{self.name}={value!r}: must be {self.describe_allowed()}.")
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

    def describe_allowed(self) -> str:
        """Describe the allowed values."""
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
    """The kind of object that the spec describes, as shown in errors and lists: `game`, `player`."""
    name: str
    """The object's name, unique within its kind."""
    summary: str
    """One-line summary for lists."""
    entry_point: str
    """The implementation, `"package.module:attribute"`, imported on use."""

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
    """A game offered by a plugin. `entry_point` resolves to `(spec, params) -> Game`.

    `name` is a lower-case identifier, which is OpenSpiel's name if OpenSpiel has the game: `tic_tac_toe`."""

    kind = "game"
    title: str
    """The game's display name: `Tic-tac-toe`."""
    seats: int = 2
    """Number of seats. In a game with a parameter `players`, this is the parameter's default."""
    seat_names: tuple[str, ...] = ()
    """Name of each seat in the rules: `("Black", "White")`, `("x", "o")`.

    Web pages show these names. They also color a seat whose name begins with Black or White. Empty if the rules do not
    name the seats."""
    family: str = "other"
    """The group of similar games that lists show it in: `cards`, `puzzles`."""
    parameters: tuple[Parameter, ...] = ()
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Named parameter sets, such as those that another library uses: `{"GEM hard": {"disks": 5, "turns": 35}}`."""
    examples: tuple[Mapping[str, Any], ...] = ({},)
    """Parameter sets for testing the game, starting with the defaults."""
    information: Information = "perfect"
    dynamics: Dynamics = "sequential"
    chance: bool = False
    utility: Utility = "zero_sum"
    free_text: bool = False
    talk: bool = False
    """Whether seats also speak. Then `free_text` is True, and only decisions list their legal moves."""
    tools: ToolResults = ""
    """Nonempty if moves are tool calls (`gymposium.tasks`).

    Chance events then hold the hidden task and the tool results, and `free_text` is also True.

    - `pure`: tool results depend only on the task and the calls. Records are verified by repeating the calls.
    - `recorded`: tool results may change, for example because they come from a server. The environment is not
      deterministic, records also hold the tools, and a replay takes the results from the record."""
    recorded: bool = False
    """True for a game without tools that depends on something variable, such as a server.

    The environment is then not deterministic, and a replay takes the answers from the record (`RecordedGame`)."""
    replay: str = ""
    """`module:function` of a callable `(spec, params, events) -> Game` that makes a record's game from its events
    alone.

    It opens nothing, so records can be replayed without the user's permission. Empty if a replay needs the things that
    the parameters open."""
    after_colon: str = ""
    """Name of the text parameter that may be written after a colon: `openenv:http://…`."""
    unsearchable: str = ""
    """Why search players reject the game, as the end of a sentence: `its deals are too large …`.

    Empty if they may play it."""
    best_play: str = ""
    """Known facts about optimal play, in sentences, with sources. They are for people and never appear in prompts."""
    null_agents: Mapping[str, str] = field(default_factory=dict)
    """Null agents of `gymposium audit-env` that earn more than random play by the rules, each with the reason:
    `{"first": "The first column is as good as any."}`."""
    version: int = 0
    """Version of rules and rewards. Changes in wording increment the prompt version instead."""
    namespace: str = ""
    """Namespace of the environment id. Third-party plugins set it to their name: `theirname/TextFoo-v0`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _IDENTIFIER.fullmatch(self.name):
            raise ValueError(f"game name {self.name!r} must be lower-case letters, digits and underscores")
        if self.seats < 1:
            raise ValueError(f"game {self.name}: seats must be 1 or more, not {self.seats}")
        if self.utility == "score" and self.seats > 1:
            raise ValueError(f"game {self.name}: utility='score' needs one seat, not {self.seats}. Use 'general_sum'")
        if self.version < 0:
            raise ValueError(f"game {self.name}: version must be 0 or more, not {self.version}")
        if self.namespace and not _NAMESPACE.fullmatch(self.namespace):
            raise ValueError(
                f"game {self.name}: namespace={self.namespace!r} must be letters, digits, underscores and hyphens"
            )
        if len(self.seat_names) not in (0, self.seats):
            raise ValueError(
                f"game {self.name}: seat_names must have {self.seats} names or none, not {self.seat_names!r}"
            )
        names = [parameter.name for parameter in self.parameters]
        if duplicates := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"game {self.name}: duplicate parameter {', '.join(duplicates)}. Declare it once")
        for params in (*self.examples, *self.presets.values()):
            self.check_params(params)
        players = next((one for one in self.parameters if one.name == "players"), None)
        if players is not None and (type(players.default) is not int or players.default != self.seats):
            raise ValueError(
                f"game {self.name}: seats={self.seats} must be the default of its parameter players, "
                f"{players.default!r}"
            )
        if players is not None:
            fewest = players.low if players.choices is None else min(map(int, players.choices))
            if fewest is None or fewest < 1:
                raise ValueError(
                    f"game {self.name}: the least value of its parameter players is {fewest!r}. Set it to 1 or more."
                )
        texts = [parameter.name for parameter in self.parameters if isinstance(parameter.default, str)]
        if self.after_colon and self.after_colon not in texts:
            raise ValueError(
                f"game {self.name}: after_colon={self.after_colon!r} must name a text parameter, one of {texts}"
            )
        if self.replay:
            _check_entry_point(f"replay of game {self.name}", self.replay)
        if self.talk and (self.tools or not self.free_text):
            raise ValueError(f"game {self.name}: talk=True needs free_text=True and no tools")
        if self.tools and not self.free_text:
            raise ValueError(f"game {self.name}: tools={self.tools!r} needs free_text=True")

    @property
    def env_id(self) -> str:
        """The id in Gymnasium and PettingZoo: `TextTicTacToe-v0`."""
        camel = "".join(part[:1].upper() + part[1:] for part in self.name.split("_"))
        prefix = f"{self.namespace}/" if self.namespace else ""
        return f"{prefix}Text{camel}-v{self.version}"

    @property
    def plays_at_random(self) -> bool:
        """Whether random players can play the game, because its decisions list their moves or are tool calls."""
        return bool(self.tools) or self.talk or not self.free_text

    @property
    def describe_seats(self) -> str:
        """Describe the number of seats: `2`, or the values of the parameter `players`, such as `2 to 6` or `one of 2,
        4`."""
        players = next((p for p in self.parameters if p.name == "players"), None)
        return str(self.seats) if players is None else players.describe_allowed().removeprefix("from ")

    def count_seats(self, params: Mapping[str, Any]) -> int:
        """Return the number of seats with these parameters: `players` if the game has that parameter."""
        return int(params.get("players", self.seats))

    def check_params(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters, typed and with defaults filled in. Raises `BadParameter` for an invalid one."""
        known = {p.name: p for p in self.parameters}
        for key in given:
            if key not in known:
                if not known:
                    raise BadParameter(f"{self.name} has no parameters. Remove {key!r}.")
                raise BadParameter(str(UnknownName(f"parameter of {self.name}", key, known)))
        checked = {key: known[key].check(value) for key, value in given.items()}
        return {p.name: checked.get(p.name, p.get_default(checked)) for p in self.parameters}

    def full_name(self, params: Mapping[str, Any]) -> str:
        """Return the game's canonical name with these parameters, omitting defaults."""
        changed = self.drop_defaults(params)
        name = f"{self.name}:{changed.pop(self.after_colon)}" if self.after_colon in changed else self.name
        return format_name(name, changed)

    @property
    def results_are_recorded(self) -> bool:
        """Whether a replay takes tool results or other external answers from the record."""
        return self.recorded or self.tools == "recorded"

    def drop_defaults(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return only the parameters that differ from their defaults."""
        return {
            p.name: params[p.name]
            for p in self.parameters
            if p.name in params and params[p.name] != p.get_default(params)
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class FormSpec(Spec):
    """Base class of specs for objects whose names follow a form, such as `mcts-N`."""

    form: str
    """The form, with capitalized placeholders: `mcts-N`, `weighted(CRITERION=WEIGHT,...)`."""
    pattern: str
    """A regular expression that matches every text of the form completely. Its named groups become keyword arguments of
    the implementation: text, or None for an unused group."""
    examples: tuple[str, ...] = ()
    """Example texts for `gymposium plugins check`. A form without placeholders needs none."""
    opens: str = ""
    """What the text opens, as a noun: `a file`, `the terminal`.

    Suites, entries and configs may come from anyone, so they may contain such a text only if the user allows it
    (`gymposium --allow`)."""
    opens_where: str = ""
    """A regular expression that limits `opens` to the texts that it matches anywhere; by default, all texts."""
    variable: str = ""
    """A regular expression whose group captures the name of an environment variable, or several separated by `|`.

    The variable's value is sent. Files may name only variables allowed by the user (`gymposium --allow-env`)."""

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

    def find_opened(self, text: str) -> str:
        """Return what a text of this form opens, as a noun, or ""."""
        spellings = (text, unquote_plus(text))  # `parse` does not split at an encoded comma
        return self.opens if self.opens and any(re.search(self.opens_where, one) for one in spellings) else ""

    def find_variables(self, text: str) -> list[str]:
        """Return the names of environment variables in a text of this form."""
        if not self.variable:
            return []
        found = [*map(unquote_plus, re.findall(self.variable, text)), *re.findall(self.variable, unquote_plus(text))]
        return list(dict.fromkeys(name for names in found for name in names.split("|")))

    def parse(self, text: str) -> dict[str, str | None] | None:
        """Return the named groups in `text`, or None if it does not have this form."""
        groups = re.fullmatch(self.pattern, text)
        return None if groups is None else groups.groupdict()


DISGUISE: Final = Parameter(
    name="disguise",
    default=0,
    low=0,
    high=999_999,
    help="Seed of other words, names and layout over the same game; 0 for the usual ones.",
)
"""Name of the parameter that a `DisguiseSpec` adds to its game."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DisguiseSpec(Spec):
    """A plugin's disguise for a game: the same game with different wording.

    `name` is the game's name, and the game gets the parameter `disguise`. `entry_point` resolves to a callable that
    takes the plain game and the disguise's seed, and returns the disguised game."""

    kind = "disguise"
    example: Mapping[str, Any] = field(default_factory=dict)
    """Game parameters for a small example of the disguise."""

    def apply(self, game: GameSpec) -> GameSpec:
        """Return the game's spec with the parameter `disguise` and an example."""
        if DISGUISE in game.parameters:
            return game
        example = {**self.example, DISGUISE.name: 7}
        return replace(game, parameters=(*game.parameters, DISGUISE), examples=(*game.examples, example))

    def remove(self, game: GameSpec) -> GameSpec:
        """Return the game's spec as it was before `apply`."""
        return replace(game, parameters=game.parameters[:-1], examples=game.examples[:-1])


@dataclass(frozen=True, kw_only=True, eq=False)
class OpponentSpec(FormSpec):
    """A kind of player offered by a plugin.

    `entry_point` resolves to a callable that takes the named groups of `pattern` as keyword arguments and returns a
    `Player`."""

    kind = "player"
    placeholders: str = ""
    """Meaning of the placeholders, as the end of a sentence: `with N from 1 to 1000`.

    It is used in the error for a text that begins like the form but does not match."""
    games: tuple[str, ...] = ()
    """Games with default parameters whose help suggests the player; () for all games."""
    offered: tuple[str, ...] = ()
    """Suggested opponents of this form, if it has placeholders."""

    def offers(self) -> dict[str, str]:
        """Return suggested opponents with their summaries: `mcts-25` for `mcts-N`.

        A player that opens something is never suggested."""
        if self.opens:
            return {}
        if self.fixed_part:
            return {text: self._fill_summary(text) for text in self.offered}
        return {self.form: self.summary}

    def _fill_summary(self, text: str) -> str:
        """Return the summary, filled in with the placeholder values from a text."""
        pattern = re.sub(r"\\?[A-Z]+", "(.+)", re.escape(self.form))
        match = re.fullmatch(pattern, text)
        values = dict(zip(re.findall(r"[A-Z]+", self.form), match.groups() if match else ()))
        return re.sub(r"\b[A-Z]+\b", lambda word: values.get(word[0], word[0]), self.summary)

    @property
    def fixed_part(self) -> str:
        """The form up to its first placeholder: `mcts-`. Empty if the form has no placeholders."""
        prefix = re.match(r"([^A-Z]+)[A-Z]", self.form)
        return "" if prefix is None else prefix[1]


@dataclass(frozen=True, kw_only=True, eq=False)
class RewardSpec(FormSpec):
    """A reward offered by a plugin. `name` is its form without the parentheses.

    `entry_point` resolves to a callable that takes the named groups of `pattern` as keyword arguments. It returns a
    function that maps a group of trajectories to their rewards (`gymposium.rewards.protocol.RewardFunction`)."""

    kind = "reward"


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfiguredSpec(Spec):
    """Base class of specs for objects that a training config selects by name and configures through a settings
    class."""

    settings: str
    """The settings class, `"package.module:Class"`. It is imported when a config is checked, so its module must not
    import anything heavy."""
    opens: Mapping[str, str] = field(default_factory=dict)
    """What each setting opens, as a noun: `{"url": "an address", "run": "a command"}`.

    The key "" stands for the object without any setting. A config file may have such a setting only if the user types
    or allows it. If the noun begins with `an address`, addresses on this machine need no permission."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _IDENTIFIER.fullmatch(self.name):
            raise ValueError(f"{self.kind} name {self.name!r} must be lower-case letters, digits and underscores")
        _check_entry_point(f"settings of {self.kind} {self.name}", self.settings)


@dataclass(frozen=True, kw_only=True, eq=False)
class LoggerSpec(ConfiguredSpec):
    """A logger offered by a plugin: the table `[loggers.NAME]` in a training config.

    `entry_point` resolves to a callable that takes a `gymposium.runs.loggers.protocol.LoggerStart` and the settings,
    and returns a `gymposium.runs.loggers.protocol.Logger`. The settings class is a frozen dataclass whose fields are
    the table's options."""

    kind = "logger"
    needs: str = ""
    """An optional package that the logger imports when it is created.

    If the package is missing, a config with the logger is rejected."""
    install: str = ""
    """The `pip install` argument for that package; by default `needs`."""
    examples: tuple[Mapping[str, Any], ...] = ()
    """Settings for `gymposium plugins check`, which starts the logger in a temporary directory without network
    access."""


class CreditSpec(ConfiguredSpec):
    """A credit assignment offered by a plugin: `credit.kind = NAME` in a training config.

    It maps rewards to an advantage per turn. `entry_point` resolves to a callable that takes the settings, a subclass
    of `gymposium_train.credit.protocol.CreditSettings` whose `kind` is the name, and returns a
    `gymposium_train.credit.protocol.Credit`."""

    kind = "credit"


class ObjectiveSpec(ConfiguredSpec):
    """A policy loss offered by a plugin: `objective.kind = NAME` in a training config.

    `entry_point` resolves to a callable that takes the settings, a subclass of
    `gymposium_train.objective.protocol.ObjectiveSettings` whose `kind` is the name, and returns a
    `gymposium_train.objective.protocol.Objective`."""

    kind = "objective"


class SourceSpec(ConfiguredSpec):
    """A source of trajectories offered by a plugin: `source.kind = NAME` in a training config.

    `entry_point` resolves to a callable that takes the settings, a subclass of
    `gymposium_train.config.source.SourceSettings` whose `kind` is the name, and a
    `gymposium_train.rollout.protocol.SourceStart`. It returns a `gymposium_train.rollout.protocol.RolloutSource`."""

    kind = "source"


class BackendSpec(ConfiguredSpec):
    """A backend offered by a plugin: `backend.kind = NAME` in a training config. It holds the learning model.

    `entry_point` resolves to a callable that takes the settings, a subclass of
    `gymposium_train.config.backend.BackendSettings` whose `kind` is the name, and returns a
    `gymposium_train.backends.protocol.Backend`. The callable is imported when a config is checked, so its module must
    not import anything heavy."""

    kind = "backend"


@dataclass(frozen=True, kw_only=True, eq=False)
class EngineSpec(ConfiguredSpec):
    """An engine that samples a language model's replies, for training runs and `lm:` players.

    `entry_point` resolves to a callable that takes a `gymposium_agents.engines.protocol.EngineStart` and the settings,
    and returns a `gymposium_agents.engines.protocol.HostingEngine`. Its name appears in a training config (`[engine]`
    with `kind = "NAME"`) and in a player (`lm:MODEL?engine=NAME`)."""

    kind = "engine"
    settings: str = "gymposium.util.settings:NoSettings"
    """The settings class, `"package.module:Class"`, a frozen dataclass.

    Each field is a setting of `[engine]` and an option of the player. The class is imported when a config is checked,
    so its module must not import anything heavy."""
    label: str = ""
    """The engine's name in a player's identity; by default `name`."""
    shares_learner: bool = False
    """True if the engine samples from the learner's in-memory model.

    Then rollouts cannot overlap updates, and the learner must run in one process."""
    streams: bool = False
    """True if the engine answers each request as soon as it can, like a server.

    Training runs then use `engine.schedule = "streaming"` by default, so no match waits for the slowest reply."""
    backend: str = "local"
    """The backend whose models the engine samples from (`backend.kind`)."""
    all_weights: bool = False
    """True if the engine can sample from a fully trained model (`model.tune = "full"`), False if it only loads LoRA
    adapters.

    If True, it must be a `gymposium_agents.engines.protocol.WeightsHost` or a
    `gymposium_agents.engines.transformers.TransformersEngine`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExecutorSpec(Spec):
    """An executor offered by a plugin, which plays a run's matches: `--executor NAME`.

    `entry_point` resolves to a callable that takes a `gymposium.runs.executors.protocol.ExecutorStart` and returns a
    `gymposium.runs.executors.protocol.Executor`."""

    kind = "executor"


@dataclass(frozen=True, kw_only=True, eq=False)
class CommandSpec(Spec):
    """A `gymposium` command offered by a plugin. `entry_point` resolves to a Typer app or a plain function."""

    kind = "command"
    order: int = 100
    """Sort key in `gymposium --help`, lowest first."""
