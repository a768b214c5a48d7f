"""Creation and caching of games by name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

from gymposium.errors import BadParameter, UnknownName, WrongType
from gymposium.games.protocol import Event, Game
from gymposium.plugins.allowed import check_allowed
from gymposium.plugins.first_party import check_first_party
from gymposium.plugins.host import host
from gymposium.plugins.names import format_name, parse_name
from gymposium.plugins.specs import DISGUISE, GameSpec, resolve_entry_point
from gymposium.util.isolated import call_isolated, is_isolated
from gymposium.util.streams import stream

_RECORDED = "recorded:"


def load_game(name: str, **params: Any) -> Game:
    """Return the game with this name: `load_game("goofspiel(num_cards=8)")` or `load_game("goofspiel", num_cards=8)`.

    `openspiel:NAME` returns any other OpenSpiel game with the engine's plain text. `gym:ID` returns any Gymnasium text
    environment. `recorded:NAME` returns an OpenSpiel game for records whose chance was drawn elsewhere. Games are
    immutable and cached. Raises `UnknownName` with the nearest names, `BadParameter` for an invalid parameter, and
    `WrongType` if `name` is not a string."""
    if not isinstance(name, str):
        raise WrongType("The name of a game", "text such as 'tic_tac_toe' or 'goofspiel(num_cards=8)'", name)
    if has_recorded_chance(name):
        game = load_game(_strip_recorded(name), **params)
        if (use_recorded_chance := getattr(game, "use_recorded_chance", None)) is None:
            raise BadParameter(
                f"{_RECORDED}{game.name}: only OpenSpiel games take chance from a record. Use {game.name}."
            )
        return cast(Game, use_recorded_chance())
    base, written = split_game_name(name)
    for key in params:
        if key in written:
            raise BadParameter(f"{key!r} is given twice: in {name!r} and as a keyword argument. Remove one.")
    if base.startswith("gym:"):
        return cast(
            Game,
            resolve_entry_point("gymposium.games.gym_env:make_gym_game")(base.removeprefix("gym:"), written, params),
        )
    if base.startswith("openspiel:"):
        return _load_plain(format_name(base.removeprefix("openspiel:"), {**written, **params}))
    if DISGUISE.name in {**written, **params}:
        check_first_party("disguise", base, host().disguises, host().plugins)
    return _make_game(base, tuple(sorted(find_spec(base).check_params({**written, **params}).items())))


def _strip_recorded(name: str) -> str:
    """Return a game's name without any leading `recorded:`, so that checks and `load_game` agree on the game."""
    name = name.strip()
    while has_recorded_chance(name):
        name = name.removeprefix(_RECORDED).strip()
    return name


def split_game_name(name: str) -> tuple[str, dict[str, str]]:
    """Split a game's name into its plain name and parameters, as `parse_name` does.

    If the game's spec allows it (`after_colon`), one parameter may follow a colon: `openenv:URL` is
    `openenv(url=URL)`."""
    base, written = parse_name(name)
    short, colon, value = base.partition(":")
    spec = host().games.get(short)
    if not colon or spec is None or not spec.after_colon:
        return base, written
    if spec.after_colon in written:
        raise BadParameter(
            f"{spec.after_colon!r} is given twice in {name!r}: after the colon and in parentheses. Remove one."
        )
    return short, {spec.after_colon: value, **written}


def takes_colon(name: str) -> bool:
    """Return whether text after a colon may belong to a game's name that begins like this: `openspiel`, `openenv`."""
    base = _strip_recorded(name).partition(":")[0]
    spec = host().games.get(base)
    return base in ("recorded", "gym") or name.endswith("openspiel") or (spec is not None and bool(spec.after_colon))


def load_named_game(name: str) -> Game:
    """Return the game named in a file, such as a record or a suite.

    Unlike `load_game`, this accepts only what a file may name (`gymposium.plugins.allowed`). An OpenSpiel game is first
    tried in a separate process. Raises `PermissionRequired` for other names, and `CallFailed` if the engine kills that
    process."""
    check_named_game(name)
    if needs_isolation(name) and not is_isolated():
        _check_in_isolation(name)
    return load_game(name)


def load_recorded_game(name: str, events: Sequence[Event]) -> Game:
    """Return the game for replaying a record with these events. Do not use it for other matches.

    A game with its own `GameSpec.replay` is made from the events alone, so nothing is opened and no permission is
    needed. Any other game is loaded by `load_named_game`."""
    base, written = split_game_name(name)
    spec = host().games.get(base)
    if spec is None or not spec.replay:
        return load_named_game(name)
    return cast(Game, resolve_entry_point(spec.replay)(spec, spec.check_params(written), events))


def check_named_game(name: str) -> None:
    """Check the name of a game from a file.

    Raises `PermissionRequired` if the game opens something that the user has not allowed, and `BadParameter` if the
    name cannot be parsed."""
    if reason := explain_access(name):
        check_allowed(name, reason, _find_variables(name))


def _find_variables(name: str) -> list[str]:
    """Return the environment variables whose values a game would send to a server."""
    base, params = split_game_name(_strip_recorded(name))
    spec = host().games.get(base)
    return [params[one.name] for one in spec.parameters if one.is_variable and one.name in params] if spec else []


def explain_access(name: str) -> str:
    """Return a clause that says why a file must not name this game, or "" if it may."""
    base, params = split_game_name(_strip_recorded(name))
    if base.startswith("gym:"):
        from gymposium.games.gym_env import OWN_PARAMETERS

        if ":" in base.removeprefix("gym:"):
            return "it imports a module"
        foreign = next((key for key in params if key not in OWN_PARAMETERS), "")
        return foreign and f"it passes {foreign} to the environment's code"
    if base.startswith("openspiel:"):
        from gymposium.games.openspiel.parameters import explain_harm

        return explain_harm(base.removeprefix("openspiel:"), params)
    try:
        spec = host().game(base)
    except UnknownName:
        return ""  # load_game reports it
    for parameter in spec.parameters:
        if parameter.opens and parameter.name in params:
            with suppress(BadParameter):  # load_game reports it
                if parameter.check(params[parameter.name]) != parameter.default:
                    return f"its parameter {parameter.name} opens {parameter.opens}"
    return ""


def needs_isolation(name: str) -> bool:
    """Return whether untrusted records of this game must be replayed in a separate process.

    True for `openspiel:NAME`, because some engines do not validate all parameters and moves."""
    return _strip_recorded(name).startswith("openspiel:")


@lru_cache(maxsize=64)
def _check_in_isolation(name: str) -> None:
    call_isolated(_play_random_moves, name)


def _play_random_moves(name: str) -> None:
    """Make the game and play some random moves, to find out whether the engine kills the process."""
    match, rng = load_game(_strip_recorded(name)).new(0), stream(0, "try")
    for _ in range(20):
        moves = {}
        for seat in match.to_move():
            match.observe(seat)
            legal = match.legal_moves(seat) or [""]
            moves[seat] = legal[int(rng.random() * len(legal))]
        if not moves:
            return
        match.apply(moves)


def has_recorded_chance(name: str) -> bool:
    """Return whether matches of this game take chance outcomes from their record (`recorded:NAME`)."""
    return name.strip().startswith(_RECORDED)


def is_registered(name: str) -> bool:
    """Return whether a plugin provides this game, with environment ids and typed parameters.

    False for `openspiel:NAME`, `gym:ID` and `recorded:NAME`, which refer to engines and records."""
    return not name.startswith(("openspiel:", "gym:", _RECORDED))


def find_spec(name: str) -> GameSpec:
    """Return the spec of the game called `name`, without parameters.

    Raises `UnknownName` with the nearest names, or with `openspiel:NAME` if only OpenSpiel has that game."""
    try:
        return host().game(name)
    except UnknownName:
        import pyspiel  # needed for the error only

        if name in pyspiel.registered_names():
            hint = f"OpenSpiel has one: write {f'openspiel:{name}'!r}."
        elif (base := name.partition(":")[0]) in host().games:
            hint = f"The game {base!r} takes its parameters in brackets, as in {f'{base}(name=value)'!r}."
        else:
            raise
        raise UnknownName("game", name, host().games, hint) from None


@lru_cache(maxsize=256)
def _make_game(name: str, params: tuple[tuple[str, Any], ...]) -> Game:
    return cast(Game, host().make_game(name, dict(params)))


@lru_cache(maxsize=64)
def _load_plain(engine: str) -> Game:
    return cast(Game, resolve_entry_point("gymposium.games.openspiel.plain:make_plain_game")(engine))
