"""What the environments' keywords mean, with errors that name the nearest right one."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import logger
from gymnasium.error import ClosedEnvironmentError
from gymnasium.utils.seeding import np_random

from gymposium.envs.views import Views
from gymposium.errors import BadOption, BadParameter, UnknownName
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import find_spec, is_registered, load_game
from gymposium.plugins.names import parse_name
from gymposium.reading import reader
from gymposium.table import OutsideSeat

RENDER_MODES = ("ansi", "human")
METADATA: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}


class UnknownKeyword(BadParameter, TypeError):
    """A keyword that the environment does not take. Also a TypeError in Python's own words, for which libraries look
    that try keywords of their own: TorchRL's `GymEnv` drops `frameskip` then. It takes one text, as `gymnasium.make`
    makes every TypeError anew from one."""


def open_game(game: str | Game, params: dict[str, Any], keywords: Iterable[str]) -> Game:
    """The game with these parameters. `keywords` are the environment's own, for the error that names what
    a misspelled keyword may have meant."""
    if not isinstance(game, str):
        if params:
            raise BadParameter(f"{', '.join(params)}: a ready-made game takes no parameters; give its name instead.")
        return game
    if params and is_registered(game):
        spec = find_spec(parse_name(game)[0])
        known = {parameter.name for parameter in spec.parameters}
        for key in params:
            if key not in known:
                hint = UnknownName(f"keyword of {spec.env_id}", key, known.union(keywords))
                raise UnknownKeyword(f"__init__() got an unexpected keyword argument {key!r}. {hint}")
    return load_game(game, **params)


class BadRenderMode(BadOption, TypeError):
    """Also a TypeError, because stable-baselines3's `make_vec_env` tries `rgb_array` first, and takes that for a no."""


def check_render_mode(render_mode: str | None) -> str | None:
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise BadRenderMode(f"render_mode={render_mode!r}: write {' or '.join(map(repr, RENDER_MODES))}.")
    return render_mode


def show(text: str, render_mode: str | None) -> str | None:
    """Render a text: return it for `ansi`, print it for `human`, and say so where no mode was chosen."""
    if render_mode == "ansi":
        return text
    if render_mode == "human":
        print(text)
    else:
        logger.warn("render() was called without a render mode: make the environment with render_mode='ansi'.")
    return None


def check_open(closed: bool) -> None:
    """Raises Gymnasium's own error after `close`, which PettingZoo has none of."""
    if closed:
        raise ClosedEnvironmentError("The environment is closed: make a new one.")


def fresh_seed(seed: int | None, rng: np.random.Generator | None) -> tuple[int, np.random.Generator]:
    """The seed of the next match, and the generator that later ones are drawn from."""
    if seed is not None:
        return seed, np_random(seed)[0]
    rng = rng or np_random()[0]
    return draw_seed(rng), rng


def check_options(options: Mapping[str, Any] | None, known: Sequence[str]) -> None:
    """Refuse what `reset` does not know. Raises `BadOption`."""
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise BadOption(f"options={options!r}: give a dict, or None.")
    for key in options:
        if not known:
            raise BadOption(f"reset takes no options here, so {key!r} cannot be given.")
        if key not in known:
            raise BadOption(str(UnknownName("option of reset", str(key), known)))


def draw_seed(rng: np.random.Generator) -> int:
    return int(rng.random() * 2**31)  # a sixth of the time that `integers` takes


def check_seat(seat: int | str, seats: int) -> int | None:
    """The seat, or None for `"random"`. Raises `BadOption`."""
    if seat == "random":
        return None
    if not isinstance(seat, str | bool):  # True is no seat, though it is 1
        try:
            index = operator.index(seat)
        except TypeError:
            index = -1
        if index in range(seats):
            return index
    raise BadOption(f"seat={seat!r}: write a seat from 0 to {seats - 1}, or 'random'.")


class SharedOptions:
    """The keywords that all environments share, checked: the game, how it is shown, and how replies are read."""

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
        """`params` are the game's own parameters; `keywords` are the environment's, for error messages."""
        self.game = open_game(game, params, keywords)
        self.render_mode = check_render_mode(render_mode)
        self.policy = on_illegal if isinstance(on_illegal, FailurePolicy) else FailurePolicy.parse(on_illegal)
        self.outside = OutsideSeat(reader(reply), prompt, "env")
        self.views = Views(self.game, prompt, self.outside.reader)
        self.kind = observation
        """The kind of observation: `text`, `dict` or `tensor`."""
