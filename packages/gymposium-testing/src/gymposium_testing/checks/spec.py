"""Check specs: their fields, their parameters, and the constants of their games."""

from __future__ import annotations

import math
import re
from copy import deepcopy
from functools import partial
from typing import Any

from gymposium.errors import BadParameter
from gymposium.games.protocol import CHANCE, Game
from gymposium.plugins.names import parse_name
from gymposium.plugins.specs import DISGUISE, GameSpec, Parameter
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, describe_position, format_error, require, shorten
from gymposium_testing.parameters import make_game
from gymposium_testing.walk import play_matches


def spec_is_complete(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Title and summary are one line each, the first example has the defaults, and every parameter is documented."""
    for name in ("title", "summary"):
        text = getattr(spec, name)
        require(
            isinstance(text, str) and text.strip() == text != "" and "\n" not in text,
            f"{name} is {text!r}",
            f"write {name} as one line without surrounding white space.",
        )
    require(bool(spec.examples), "examples is empty", "omit examples, or begin it with {} for the defaults.")
    require(not spec.examples[0], f"the first example is {dict(spec.examples[0])!r}", "begin with {} for the defaults.")
    names = [parameter.name for parameter in spec.parameters]
    require(len(set(names)) == len(names), f"parameters share a name: {names}", "give them different names.")
    sets = [spec.check_params(example) for example in spec.examples]
    require(all(s not in sets[:i] for i, s in enumerate(sets)), "two examples are the same", "remove one of them.")
    for parameter in spec.parameters:
        _check_parameter(parameter)
    require(
        not spec.parameters or len(spec.examples) > 1,
        "the game has parameters, but the defaults are the only example",
        "add an example with other parameters: prompts and transcripts are tested with the examples.",
    )


def _check_parameter(parameter: Parameter) -> None:
    what, default = f"parameter {parameter.name!r}", parameter.default
    keyword = re.fullmatch(r"[a-z][a-z0-9_]*", parameter.name) is not None
    require(keyword, f"the name of {what} is not a lower-case word", "use letters, digits and _, a letter first.")
    require(parameter.help.strip() != "", f"{what} has no help", "describe it in one line.")
    if parameter.choices is not None:
        kinds = {type(choice) for choice in parameter.choices}
        require(kinds == {type(default)}, f"{what} has choices of other types", "give all of them the default's type.")
    else:
        require(
            type(default) not in (int, float) or None not in (parameter.low, parameter.high),
            f"{what} is a number without bounds",
            "give low and high, or choices, to define the allowed values.",
        )
    for one in (default, *parameter.by_players.values()):
        try:
            checked = parameter.check(one)
        except BadParameter as error:
            raise CheckFailed(
                f"{what} refuses its own default: {error}", fix="put the default within the bounds."
            ) from error
        require(checked == one, f"{what} changes its own default", "let check() return its argument.")


def bad_parameters_are_rejected(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Unknown parameters, and values out of bounds or of the wrong type, raise an error with the parameter's name."""
    fix = "leave checking to GameSpec and Parameter, with low, high or choices."
    bad = [(parameter.name, value) for parameter in spec.parameters for value in _list_bad_values(parameter)]
    for name, value in [("no_such_parameter", 1), *bad]:
        try:
            params = spec.check_params({name: value})
        except BadParameter as error:
            require(name in str(error), f"the error for {name}={value!r} does not name it: {error}", fix)
        else:
            raise CheckFailed(f"{name}={value!r} is not refused; it becomes {params.get(name)!r}.", fix=fix)


def _list_bad_values(parameter: Parameter) -> list[Any]:
    values: list[Any] = [object(), None, [parameter.default]]
    if not isinstance(parameter.default, str):
        values += ["", "many"]
    if parameter.choices is not None:
        numbers = [choice for choice in parameter.choices if not isinstance(choice, str)]
        values.append(max(numbers) * 2 + 1 if numbers else "no such choice")
    kind = type(parameter.default)
    if kind in (int, float):
        bounds = ((parameter.low, -1), (parameter.high, 1))
        values += [True, *(kind(bound + step) for bound, step in bounds if bound is not None)]
    return values


def parameter_bounds_are_playable(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A match can start with each parameter at its bounds, and with each of its choices."""
    for parameter in spec.parameters:
        values = parameter.choices if parameter.choices is not None else (parameter.low, parameter.high)
        for value in (type(parameter.default)(value) for value in values if value is not None):
            try:
                make_game(spec, {parameter.name: value}).new(seed)
            except Exception as error:  # a game may raise anything
                raise CheckFailed(
                    f"{spec.name} allows {parameter.name}={value!r}, but a game with it fails: {shorten(error)}",
                    fix="narrow the parameter's bounds, or raise BadParameter from the game if two values conflict.",
                ) from error


def game_follows_its_spec(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A game's seats, name, parameters, ranges and patterns have the right types and agree with the spec."""
    spec = game.spec
    need = partial(require, where=game.name)
    need(isinstance(spec, GameSpec), f"spec is {spec!r}", "keep the spec that the game was made with.")
    seats = spec.count_seats(game.params)
    need(game.seats == seats, f"there are {game.seats} seats, but the spec says {seats}", "make them equal.")
    if not game.name.startswith("openspiel:"):
        plain = {DISGUISE.name: DISGUISE.default} if DISGUISE in spec.parameters else {}
        params = {**plain, **game.params}
        names = {parameter.name for parameter in spec.parameters}
        need(params.keys() == names, f"params are {params}, not of {names}", "keep all given parameters.")
        need(spec.check_params(params) == params, f"params are {params}", "keep them as the spec checked them.")
        need(game.name == spec.full_name(params), f"its params are {params}", "name it spec.full_name(params).")
        base, written = parse_name(game.name)
        need(spec.check_params(written) == params, f"the name reads as {base} {written}", "use spec.full_name(params).")
    low, high = game.utility_range
    need(
        math.isfinite(low) and math.isfinite(high) and low <= high,
        f"utility_range is {(low, high)}",
        "give finite bounds.",
    )
    need(
        type(game.max_decisions) is int and game.max_decisions > 0,
        f"max_decisions is {game.max_decisions!r}",
        "use a positive integer.",
    )
    need(type(game.num_actions) is int, f"num_actions is {game.num_actions!r}", "use an integer.")
    need(
        (game.num_actions == 0) == spec.free_text,
        f"num_actions is {game.num_actions}, spec.free_text {spec.free_text}",
        "use num_actions = 0 for free text, and only then.",
    )
    pattern = game.move_pattern
    need(pattern is None or isinstance(pattern, re.Pattern), f"move_pattern is {pattern!r}", "compile it, or use None.")
    shape = game.tensor_shape
    need(
        shape is None or (type(shape) is tuple and all(type(n) is int and n > 0 for n in shape)),
        f"tensor_shape is {shape!r}",
        "use a tuple of integers, or None.",
    )
    need(isinstance(hash(game), int), "it cannot be hashed", "games are immutable: keep the default __hash__.")
    try:
        copy = deepcopy(game)
    except Exception as error:  # a game may raise anything
        raise CheckFailed(
            f"a deep copy fails: {format_error(error)}",
            where=game.name,
            fix="let __deepcopy__(self, memo) return self: games are immutable, and Gymnasium copies its arguments.",
        ) from error
    need(
        copy.name == game.name and copy.seats == game.seats, "a deep copy differs", "return self: games are immutable."
    )


def matches_follow_the_spec(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Matches have the spec's dynamics and chance, and tensors have the declared shape and type."""
    spec = game.spec
    for match in play_matches(game, seed, effort.decisions):
        seats = match.to_move()
        if not (type(seats) is tuple and list(seats) == sorted(set(seats)) and set(seats) <= set(range(game.seats))):
            raise CheckFailed(
                f"to_move() is {seats!r}.",
                where=describe_position(match),
                fix="return a tuple of seats in ascending order.",
            )
        if spec.dynamics == "sequential" and len(seats) > 1:
            raise CheckFailed(
                f"the spec says dynamics='sequential', but seats {seats} move simultaneously.",
                where=describe_position(match),
                fix="declare dynamics='simultaneous', or let one seat move at a time.",
            )
        for seat in range(game.seats) if game.tensor_shape is not None else ():
            tensor = match.tensor(seat)
            if tensor.shape != game.tensor_shape or str(tensor.dtype) != "float32":
                raise CheckFailed(
                    f"a tensor has shape {tensor.shape} and type {tensor.dtype}, not {game.tensor_shape} and float32.",
                    where=describe_position(match, seat),
                    fix="make tensor() and tensor_shape agree.",
                )
        for event in () if seats else match.events:
            if event.seat == CHANCE and not spec.chance:
                raise CheckFailed(
                    f"the spec says chance=False, but chance drew {event.move!r}.",
                    where=describe_position(match),
                    fix="say chance=True.",
                )
            if type(event.seat) is not int or not CHANCE <= event.seat < game.seats or type(event.move) is not str:
                raise CheckFailed(
                    f"the event {event!r} must consist of a seat (an integer) and a move (text).",
                    where=describe_position(match),
                    fix="record Event(seat, move), with seat CHANCE for chance: events are written to JSON.",
                )
