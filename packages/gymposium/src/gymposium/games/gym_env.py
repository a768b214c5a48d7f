"""Gymnasium text environments as single-seat games, by id: `gym:MyText-v0`.

`run`, `play`, `eval` and training accept every environment that Gymnasium can make, without a plugin. Observations must
be text (`gymnasium.spaces.Text`) and actions `Discrete` or `Text`. `Discrete` actions are named by
`get_action_meanings()`, or else by their numbers. `info["action_mask"]` or the environment's `action_masks()` may
restrict the legal actions, and `info["legal_moves"]` may rename them.

The environment draws its chance from the seed passed to `reset`. So a record holds that seed and, after each move, a
digest of what the environment returned. A replay steps a new environment and fails if the digests differ. Search cannot
play such games, because it cannot redraw later chance and does not know the environment's hidden state. The parameter
`deterministic=True` promises that the observation and the later moves determine everything that follows.
"""

from __future__ import annotations

import ast
import hashlib
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.spaces import Discrete, Text

from gymposium.errors import BadParameter, BadRecord, GymposiumError, IllegalMove, NoSampler, UnknownName, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.plugins.names import format_name
from gymposium.plugins.specs import GameSpec
from gymposium.util.streams import stream
from gymposium.util.visible import shorten

if TYPE_CHECKING:
    import numpy as np

PREFIX = "gym:"

OWN_PARAMETERS = ("max_decisions", "min_return", "max_return", "deterministic")
"""Parameters that gymposium handles; all others are passed to `gymnasium.make`."""

_NO_CHANCE = (
    "its environment may have hidden randomness or state. If the observation and the moves determine every step, add "
    "the parameter deterministic=True"
)


def make_gym_game(env_id: str, written: Mapping[str, str], given: Mapping[str, Any]) -> GymGame:
    """Return the game for an environment.

    `written` holds parameters from the game's name, `given` the keyword arguments.

    Raises `UnknownName` if Gymnasium has no such environment. Raises `BadParameter` if the environment rejects its
    parameters, has observations or actions that are not text, or has no limit on episode length."""
    params = {**{key: _parse_value(text) for key, text in written.items()}, **given}
    for key, value in params.items():
        if not (value is None or isinstance(value, bool | int | float | str)):
            raise BadParameter(
                f"{key}={value!r}: a parameter of {PREFIX}{env_id} must be a number, a string, True, False or None."
            )
    name = PREFIX + format_name(env_id, {key: _format_value(value) for key, value in params.items()})
    return _make_cached_game(name, env_id, tuple(sorted(params.items())))


@lru_cache(maxsize=64)
def _make_cached_game(name: str, env_id: str, params: tuple[tuple[str, Any], ...]) -> GymGame:
    return GymGame(name, env_id, dict(params))


@dataclass(frozen=True)
class _OwnParameters:
    """Validated values of the parameters that gymposium handles."""

    max_decisions: Any = None
    min_return: Any = 0.0
    max_return: Any = 1.0
    deterministic: Any = False

    def __post_init__(self) -> None:
        steps, least, most = self.max_decisions, self.min_return, self.max_return
        if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 1):
            raise BadParameter(f"max_decisions={steps!r}: must be a whole number, 1 or more.")
        for key, value in (("min_return", least), ("max_return", most)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise BadParameter(f"{key}={value!r}: must be a number.")
        if not least < most:
            raise BadParameter(f"max_return={most!r}: must be greater than min_return={least!r}.")
        if not isinstance(self.deterministic, bool):
            raise BadParameter(f"deterministic={self.deterministic!r}: must be True or False.")


class GymGame:
    """A game made from a Gymnasium environment with fixed parameters."""

    seats = 1
    tensor_shape: tuple[int, ...] | None = None

    def __init__(self, name: str, env_id: str, params: Mapping[str, Any]) -> None:
        self.name = name
        self.params: Mapping[str, Any] = MappingProxyType(dict(params))
        self.env_id = env_id
        own = _OwnParameters(**{key: params[key] for key in OWN_PARAMETERS if key in params})
        self.deterministic = own.deterministic
        self.utility_range = (float(own.min_return), float(own.max_return))
        self._keywords = {key: value for key, value in params.items() if key not in OWN_PARAMETERS}
        if own.max_decisions is not None:
            self._keywords["max_episode_steps"] = own.max_decisions
        env = self.make()
        steps = None if env.spec is None else env.spec.max_episode_steps
        shows, takes = env.observation_space, env.action_space
        meanings = getattr(env.unwrapped, "get_action_meanings", None)
        names = [str(name) for name in meanings()] if callable(meanings) else None
        env.close()
        if steps is None:
            raise BadParameter(f"{env_id} has no limit on episode length. Add one, such as max_decisions=100.")
        self.max_decisions: int = steps
        if not isinstance(shows, Text):
            raise BadParameter(
                f"{env_id} has observations {shows}, but only text observations are supported. Register it inside a "
                f"gymnasium.ObservationWrapper that describes each observation as text and has a Text space."
            )
        if not isinstance(takes, Discrete | Text):
            raise BadParameter(
                f"{env_id} has the action space {takes}, but only Discrete and Text are supported. Wrap it in a "
                "gymnasium.ActionWrapper."
            )
        free = isinstance(takes, Text)
        self.num_actions = 0 if isinstance(takes, Text) else int(takes.n)
        self.start = 0 if isinstance(takes, Text) else int(takes.start)
        self.names = None if free else names or [str(self.start + i) for i in range(self.num_actions)]
        if self.names is not None and (len(self.names) != self.num_actions or len(set(self.names)) != len(self.names)):
            raise BadParameter(
                f"{env_id} has {self.num_actions} actions, but get_action_meanings() returns {', '.join(self.names)}. "
                f"Return one unique name for each action."
            )
        self.move_pattern: re.Pattern[str] | None = None
        self.spec = GameSpec(
            name=re.sub(r"[^a-z0-9_]", "_", env_id.lower()).lstrip("_"),
            title=env_id,
            summary="A Gymnasium environment of text.",
            entry_point="gymposium.games.gym_env:make_gym_game",
            seats=1,
            information="perfect" if self.deterministic else "imperfect",
            chance=True,
            utility="score",
            free_text=free,
            unsearchable="" if self.deterministic else _NO_CHANCE,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> GymGame:
        return self  # immutable

    def __reduce__(self) -> tuple[Any, ...]:
        return make_gym_game, (self.env_id, {}, dict(self.params))

    def make(self) -> gymnasium.Env[Any, Any]:
        """Make a new environment of this game."""
        try:
            return gymnasium.make(self.env_id, disable_env_checker=True, **self._keywords)
        except GymposiumError:
            raise  # gymposium's own environments explain the error
        except (gymnasium.error.UnregisteredEnv, gymnasium.error.DeprecatedEnv):
            hint = "Import the module that registers it, or write that module first:  gym:my_module:MyText-v0"
            raise UnknownName("Gymnasium environment", self.env_id, gymnasium.registry, hint) from None
        except ModuleNotFoundError as error:
            why = str(error.__cause__ or error).split(". Environment registration")[0]
            hint = f"{why}. If it is a file of your own, name its folder:  PYTHONPATH=FOLDER gymposium …"
            raise UnknownName("Gymnasium environment", self.env_id, gymnasium.registry, hint) from error
        except (gymnasium.error.Error, TypeError, ValueError, AssertionError) as error:
            raise BadParameter(
                f"{self.name} cannot be made: {str(error).rstrip('.')}. Check its parameters."
            ) from error

    def rules(self, seat: int, style: Style = "full") -> str:
        return f"This is {self.env_id}. You play it alone.\n" if style == "full" else ""

    def new(self, seed: int) -> GymMatch:
        return GymMatch(self, stream(seed, "chance").getrandbits(31), seed)

    def load(self, events: Sequence[Event], seed: int | None = None) -> GymMatch:
        first = re.fullmatch(r"seed (\d+)", events[0].move) if events and events[0].seat == CHANCE else None
        if first is None:
            raise BadRecord(
                "Event 0 must be the environment's seed, such as 'seed 7', not "
                f"{shorten(events[0].move) if events else 'missing'}."
            )
        match = GymMatch(self, int(first[1]), seed)
        for number, (by, move) in enumerate(events):
            if number < len(match.events):
                if match.events[number] != (by, move):
                    raise BadRecord(
                        f"Event {number} is {move!r}, but the replay produced {match.events[number].move!r}. "
                        f"{self.env_id} has changed, or it does not depend only on its seed and the moves."
                    )
            elif by != 0 or not match.to_move():
                raise BadRecord(
                    f"Event {number} ({move!r}) belongs to seat {by}, but the seats to move are {match.to_move()}."
                )
            else:
                try:
                    match.apply({0: move})
                except IllegalMove as error:
                    raise BadRecord(f"Event {number}: {error}") from error
        return match


class GymMatch:
    """A match that wraps one episode of an environment."""

    def __init__(self, game: GymGame, reset_seed: int, seed: int | None) -> None:
        self.game = game
        self.seed = seed
        self.events = [Event(CHANCE, f"seed {reset_seed}")]
        self._env = game.make()
        self._return, self._over = 0.0, False
        self._store_step(*self._env.reset(seed=reset_seed))

    def to_move(self) -> tuple[int, ...]:
        return () if self._over else (0,)

    def legal_moves(self, seat: int) -> list[str] | None:
        return None if self._legal is None else [] if self._over else list(self._legal)

    def legal_actions(self, seat: int) -> list[int]:
        return [] if self._legal is None or self._over else list(self._legal.values())

    def observe(self, seat: int, style: Style = "full") -> Observation:
        text, legal = self._text, self.legal_moves(seat)
        if style == "compact" and legal:  # the environment's text seldom lists the legal moves
            text = f"{text}legal {', '.join(legal)}\n"
        return Observation(seat, text, legal)

    def view(self, seat: int) -> str:
        return self._text

    def tensor(self, seat: int) -> np.ndarray:
        raise ValueError(f"{self.game.name} has no tensor observation; use observation='text'.")

    def apply(self, moves: Mapping[int, str]) -> None:
        if self._over or set(moves) != {0}:
            raise WrongSeat(moves, self.to_move())
        move = moves[0]
        action: Any = move
        if self._legal is not None:
            if move not in self._legal:
                raise IllegalMove(0, move, self._legal)
            action = self.game.start + self._legal[move]
        shown, reward, terminated, truncated, info = self._env.step(action)
        self.events.append(Event(0, move))
        self._return += float(reward)
        self._over = bool(terminated or truncated)
        self._store_step(shown, info, float(reward))

    def returns(self) -> tuple[float, ...]:
        return (self._return,)

    def fork(self, rng: random.Random) -> GymMatch:
        """Return a copy of the match by replaying it.

        Raises `NoSampler` unless the environment is deterministic, because its later chance cannot be drawn from
        `rng`."""
        if not self.game.deterministic:
            raise NoSampler(f"{self.game.name} cannot be forked: {_NO_CHANCE}.")
        return self.game.load(self.events)

    def resample(self, seat: int, rng: random.Random) -> GymMatch:
        return self.fork(rng)  # only deterministic environments can be forked, and they hide nothing

    def _store_step(self, shown: Any, info: Mapping[str, Any], reward: float = 0.0) -> None:
        """Store what the environment returned, and record its digest."""
        if not isinstance(shown, str):
            raise TypeError(
                f"{self.game.env_id} returned an observation of type {type(shown).__name__}; it must return a string."
            )
        self._text = shown if shown.endswith("\n") else shown + "\n"
        self._legal = None if self.game.names is None else self._list_legal(self.game.names, info)
        digest = hashlib.sha256(f"{shown}\0{reward!r}\0{self._over}\0{self._legal}".encode()).hexdigest()[:12]
        self.events.append(Event(CHANCE, f"shown {digest}"))
        if self._over:
            self._env.close()
            least, most = self.game.utility_range
            if not least - 1e-6 <= self._return <= most + 1e-6:
                raise BadParameter(
                    f"{self.game.name} ended with a return of {self._return:g}, outside the range {least:g} to "
                    f"{most:g}. Set its parameters min_return and max_return."
                )

    def _list_legal(self, names: Sequence[str], info: Mapping[str, Any]) -> dict[str, int]:
        """Return the index of each legal move in the action space."""
        if self._over:
            return {}
        mask = info.get("action_mask")
        if mask is None and self._env.has_wrapper_attr("action_masks"):
            mask = self._env.get_wrapper_attr("action_masks")()
        actions = [i for i in range(len(names)) if mask is None or mask[i]]
        called = info.get("legal_moves")
        if called is None:
            called = [names[i] for i in actions]
        elif set(called) <= set(names) and mask is None:
            actions = sorted(names.index(name) for name in called)
            called = [names[i] for i in actions]
        if len(called) != len(actions) or not actions:
            raise ValueError(
                f"{self.game.env_id} has {len(actions)} legal actions, but info['legal_moves'] lists {len(called)}. "
                "List one name per legal action."
            )
        return dict(zip(called, actions, strict=True))


def _parse_value(text: str) -> Any:
    """Parse a parameter's value: a number, True, False, None, or a string with or without quotes."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text, text)


def _format_value(value: Any) -> str:
    """Write a parameter's value; the inverse of `_parse_value`."""
    return value if isinstance(value, str) and _parse_value(value) == value else repr(value)
