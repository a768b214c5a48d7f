"""Keywords, seeds and actions shared by all environments, with checks and error messages."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from gymnasium import logger
from gymnasium.error import ClosedEnvironmentError, InvalidAction, ResetNeeded
from gymnasium.utils.seeding import np_random

from gymposium.envs.table import OutsideSeat, Table, make_reply
from gymposium.envs.views import Views, describe_position
from gymposium.errors import BadOption, BadParameter, UnknownName, WrongType
from gymposium.games.pictures.pixels import can_render_pixels, draw_position, render_pixels
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import find_spec, is_registered, load_game, split_game_name
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Reply
from gymposium.replies.reading import get_reader

T = TypeVar("T", bound=Table)

RENDER_MODES = ("ansi", "human", "rgb_array")
METADATA: dict[str, Any] = {"render_modes": [*RENDER_MODES[: 2 + can_render_pixels()]], "render_fps": 4}
"""The environments' metadata. It has `rgb_array` only with gymposium[images], because `check_env` tries all modes."""


class UnknownKeyword(BadParameter, TypeError):
    """A keyword that the environment does not accept.

    It is also a `TypeError` with Python's wording, which libraries look for when they probe keywords. TorchRL's
    `GymEnv`, for example, then drops `frameskip`. Its only argument is the message, because `gymnasium.make` recreates
    each `TypeError` from its message."""


class SharedOptions:
    """Validated keywords shared by all environments: the game, the kind of observation, and how replies are read."""

    def __init__(
        self,
        game: str | Game,
        keywords: Iterable[str],
        *,
        on_illegal: str | FailurePolicy = "forfeit",
        reply: str = "move",
        prompt: Style = "full",
        observation: str = "text",
        render_mode: str | None = None,
        **params: Any,
    ) -> None:
        """Load the game and check the options. `params` are the game's own parameters. `keywords` are the
        environment's keyword names, for error messages."""
        self.game = _load_game(game, params, keywords)
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise BadOption(f"Unknown render_mode={render_mode!r}. Use {', '.join(map(repr, RENDER_MODES))}.")
        self.render_mode = render_mode
        self.policy = on_illegal if isinstance(on_illegal, FailurePolicy) else FailurePolicy.parse(on_illegal)
        if not isinstance(prompt, str):  # text is checked where prompts are made
            raise BadOption(f"Unknown prompt={prompt!r}. Use 'full' or 'compact'.")
        self.outside = OutsideSeat(get_reader(reply), prompt, "env")
        self.views = Views(self.game, prompt, self.outside.reader)
        self.kind = observation
        """The kind of observation, in `gymposium.envs.views.KINDS`."""


def _load_game(game: str | Game, params: dict[str, Any], keywords: Iterable[str]) -> Game:
    """Return the game with these parameters. Raises `BadParameter` if it does not accept them."""
    if not isinstance(game, str):
        if params:
            raise BadParameter(f"{', '.join(params)}: a Game object takes no parameters. Pass its name instead.")
        return game
    if params and is_registered(game):
        spec = find_spec(split_game_name(game)[0])
        known = {parameter.name for parameter in spec.parameters}
        for key in params:
            if key not in known:
                hint = UnknownName(f"{spec.env_id} keyword", key, known.union(keywords))
                raise UnknownKeyword(f"__init__() got an unexpected keyword argument {key!r}. {hint}")
    return load_game(game, **params)


def parse_action(action: Any, game: Game) -> Reply:
    """Return the reply for an action, as in `gymposium.envs.table.make_reply`.

    Raises `InvalidAction` for an action of another type."""
    if isinstance(action, str):
        return Reply(action)
    try:
        return make_reply(action, game)
    except WrongType as error:
        raise InvalidAction(str(error)) from None


def render_views(table: Table, seats: Mapping[str, int], render_mode: str | None) -> str | np.ndarray | None:
    """Render these agents' seats: pixels side by side for `rgb_array`, text for `ansi`, printed for `human`.

    Warns without a render mode. Raises `MissingExtra` for `rgb_array` without gymposium[images]."""
    if render_mode == "rgb_array":
        return np.hstack([render_pixels(draw_position(table.match, seat)) for seat in seats.values()])
    texts = [describe_position(table, seat) for seat in seats.values()]
    if len(texts) > 1:
        texts = [f"{agent}:\n{text}" for agent, text in zip(seats, texts, strict=True)]
    text = "\n".join(texts)
    if render_mode == "ansi":
        return text
    if render_mode == "human":
        print(text)
    else:
        logger.warn("render() was called without a render mode. Make the environment with render_mode='ansi'.")
    return None


def check_open(closed: bool) -> None:
    """Raise Gymnasium's `ClosedEnvironmentError` if the environment is closed. PettingZoo has no equivalent error."""
    if closed:
        raise ClosedEnvironmentError("The environment is closed. Make a new one.")


def require_table(table: T | None) -> T:
    """Return the table of the current match. Raises `ResetNeeded` before the first match."""
    if table is None:
        raise ResetNeeded("There is no match yet. Call reset() first.")
    return table


def choose_seed(seed: int | None, rng: np.random.Generator | None) -> tuple[int, np.random.Generator]:
    """Return the next match's seed, and the generator for later seeds."""
    if seed is not None:
        return seed, np_random(seed)[0]
    rng = rng or np_random()[0]
    return draw_seed(rng), rng


def draw_seed(rng: np.random.Generator) -> int:
    """Draw a match seed from 0 to 2**31 - 1."""
    return int(rng.random() * 2**31)  # six times as fast as `integers`


def check_options(options: Mapping[str, Any] | None, known: Sequence[str]) -> None:
    """Raise `BadOption` for `reset` options that are not in `known`."""
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise BadOption(f"options={options!r} must be a dict or None.")
    for key in options:
        if not known:
            raise BadOption(f"reset() takes no options here. Remove {key!r}.")
        if key not in known:
            raise BadOption(str(UnknownName("reset option", str(key), known)))


def check_seat(seat: int | str, seats: int) -> int | None:
    """Return the seat, or None for `"random"`. Raises `BadOption` for any other value."""
    if seat == "random":
        return None
    if not isinstance(seat, str | bool):  # bool is a subclass of int
        try:
            index = operator.index(seat)
        except TypeError:
            index = -1
        if index in range(seats):
            return index
    raise BadOption(f"seat={seat!r} must be a seat from 0 to {seats - 1}, or 'random'.")
