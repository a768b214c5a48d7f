"""Checks of specs: the spec itself, its parameters, and the constants of the games made from it."""

from __future__ import annotations

import math
import re
from copy import deepcopy
from typing import Any

from gymposium.errors import BadParameter
from gymposium.games.protocol import CHANCE, Game
from gymposium.plugins.names import parse_name
from gymposium.plugins.specs import GameSpec, Parameter
from gymposium.testing.contract import NORMAL, CheckFailed, Effort, after, short
from gymposium.testing.parameters import make_game
from gymposium.testing.walk import ended, played


def spec_is_whole(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Title and summary are one line each, the first example has the defaults, and every parameter is documented."""
    for name in ("title", "summary"):
        text = getattr(spec, name)
        _need(
            isinstance(text, str) and text.strip() == text != "" and "\n" not in text,
            f"{name} is {text!r}",
            f"write {name} as one line without white space around it: lists show it.",
        )
    _need(bool(spec.examples), "there are no examples", "leave examples out, or begin it with {} for the defaults.")
    _need(not spec.examples[0], f"the first example is {dict(spec.examples[0])!r}", "put {} for the defaults first.")
    names = [parameter.name for parameter in spec.parameters]
    _need(len(set(names)) == len(names), f"parameters share a name: {names}", "give each a name of its own.")
    sets = [spec.check_params(example) for example in spec.examples]
    _need(all(s not in sets[:i] for i, s in enumerate(sets)), "two examples are the same", "drop one of them.")
    for parameter in spec.parameters:
        _whole_parameter(parameter)
    if spec.parameters:
        _need(
            len(spec.examples) > 1,
            "there are parameters, but the defaults are the only example",
            "add an example with other parameters: prompts and transcripts are tested with the examples.",
        )


def _whole_parameter(parameter: Parameter) -> None:
    what = f"parameter {parameter.name!r}"
    _need(bool(re.fullmatch(r"[a-z][a-z0-9_]*", parameter.name)), f"{what} is no keyword", "use a lower-case word.")
    _need(parameter.help.strip() != "", f"{what} has no help", "say in one line what it does.")
    if parameter.choices is not None:
        kinds = {type(choice) for choice in parameter.choices}
        _need(kinds == {type(parameter.default)}, f"{what} has choices of other types", "give all the default's type.")
    elif type(parameter.default) in (int, float):
        _need(
            parameter.low is not None and parameter.high is not None,
            f"{what} is a number without bounds",
            "give low and high, or choices: nobody can test, or be told, what is allowed otherwise.",
        )
    try:
        same = parameter.check(parameter.default) == parameter.default
    except BadParameter as error:
        raise CheckFailed(
            f"{what} refuses its own default: {error}", do="put the default within the bounds."
        ) from error
    _need(same, f"{what} changes its own default", "let check() give back the value that it is given.")


def bad_parameters_are_refused(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Values out of bounds or of another type, and unknown names, are refused with an error that names them."""
    _refused(spec, "no_such_parameter", 1)
    for parameter in spec.parameters:
        for value in _bad_values(parameter):
            _refused(spec, parameter.name, value)


def _bad_values(parameter: Parameter) -> list[Any]:
    values: list[Any] = [object(), None, [parameter.default]]
    if not isinstance(parameter.default, str):
        values += ["", "many"]
    if parameter.choices is not None:
        numbers = [choice for choice in parameter.choices if not isinstance(choice, str)]
        values.append(max(numbers) * 2 + 1 if numbers else "no such choice")
    if type(parameter.default) in (int, float):
        values.append(True)
        values += [] if parameter.low is None else [type(parameter.default)(parameter.low - 1)]
        values += [] if parameter.high is None else [type(parameter.default)(parameter.high + 1)]
    return values


def _refused(spec: GameSpec, name: str, value: Any) -> None:
    do = "leave the checking to GameSpec and Parameter, with low, high or choices."
    try:
        got = spec.check_params({name: value})
    except BadParameter as error:
        if name not in str(error):
            raise CheckFailed(f"{name}={value!r} is refused in words that do not name it: {error}", do=do) from error
        return
    raise CheckFailed(f"{name}={value!r} is not refused; it becomes {got.get(name)!r}.", do=do)


def bounds_can_be_played(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """With each parameter at its least and greatest value, and at each choice, a match can start."""
    for parameter in spec.parameters:
        values = parameter.choices if parameter.choices is not None else (parameter.low, parameter.high)
        for value in (type(parameter.default)(value) for value in values if value is not None):
            with_it = {parameter.name: value}
            try:
                params = spec.check_params(with_it)
                make_game(spec, params).new(seed)
            except Exception as error:  # a game may raise anything
                raise CheckFailed(
                    f"{spec.name} allows {parameter.name}={value!r}, but a game with it fails: {short(error)}",
                    do="narrow the parameter's bounds, or raise BadParameter from the game where two do not fit.",
                ) from error


def game_is_what_its_spec_says(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Seats, name, parameters, ranges and patterns have the right types and agree with the spec."""
    spec = game.spec

    def need(holds: bool, what: str, do: str) -> None:
        _need(holds, f"{game.name}: {what}", do)

    need(isinstance(spec, GameSpec), f"spec is {spec!r}", "keep the spec that the game was made with.")
    seats = game.params.get("players", spec.seats)
    need(game.seats == seats, f"{game.seats} seats, the spec says {seats}", "let the two agree.")
    if not game.name.startswith("openspiel:"):
        params = dict(game.params)
        need(params.keys() == {p.name for p in spec.parameters}, f"params are {params}", "keep all that were given.")
        need(spec.check_params(params) == params, f"params are {params}", "keep them as the spec checked them.")
        need(game.name == spec.full_name(params), f"its parameters are {params}", "name it spec.full_name(params).")
        name, written = parse_name(game.name)
        need(spec.check_params(written) == params, f"the name reads as {name} {written}", "use spec.full_name(params).")
    low, high = game.utility_range
    need(
        math.isfinite(low) and math.isfinite(high) and low <= high,
        f"utility_range is {(low, high)}",
        "give finite bounds.",
    )
    need(
        type(game.max_decisions) is int and game.max_decisions > 0,
        f"max_decisions is {game.max_decisions!r}",
        "give a whole number above 0.",
    )
    need(type(game.num_actions) is int, f"num_actions is {game.num_actions!r}", "give a whole number.")
    need(
        (game.num_actions == 0) == spec.free_text,
        f"num_actions is {game.num_actions}, spec.free_text {spec.free_text}",
        "num_actions is 0 for free text, and for nothing else.",
    )
    pattern = game.move_pattern
    need(
        pattern is None or isinstance(pattern, re.Pattern), f"move_pattern is {pattern!r}", "compile it, or give None."
    )
    shape = game.tensor_shape
    need(
        shape is None or (type(shape) is tuple and all(type(n) is int and n > 0 for n in shape)),
        f"tensor_shape is {shape!r}",
        "give a tuple of whole numbers, or None.",
    )
    need(isinstance(hash(game), int), "it cannot be hashed", "games never change: leave __hash__ alone.")
    try:
        copy = deepcopy(game)
    except Exception as error:  # a game may raise anything
        raise CheckFailed(
            f"a deep copy fails: {type(error).__name__}: {short(str(error))}",
            where=game.name,
            do="games never change, so let __deepcopy__(self, memo) return self: Gymnasium copies what it is given.",
        ) from error
    need(copy.name == game.name and copy.seats == game.seats, "a deep copy is another game", "games never change.")


def matches_are_what_the_spec_says(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Matches have the dynamics and chance of the spec, and tensors have the promised shape and type."""
    spec = game.spec
    for match in played(game, seed, effort.decisions):
        seats = match.to_move()
        if not (type(seats) is tuple and list(seats) == sorted(set(seats)) and set(seats) <= set(range(game.seats))):
            raise CheckFailed(
                f"to_move() is {seats!r}.", where=after(match), do="give a tuple of seats in ascending order."
            )
        if spec.dynamics == "sequential" and len(seats) > 1:
            raise CheckFailed(
                f"the spec says dynamics='sequential', but seats {seats} are to move at once.",
                where=after(match),
                do="say dynamics='simultaneous', or let one seat move at a time.",
            )
        if game.tensor_shape is None:
            continue
        for seat in range(game.seats):
            tensor = match.tensor(seat)
            if tensor.shape != game.tensor_shape or str(tensor.dtype) != "float32":
                raise CheckFailed(
                    f"a tensor of shape {tensor.shape} and type {tensor.dtype}, not {game.tensor_shape} and float32.",
                    where=after(match, seat),
                    do="let tensor() and tensor_shape agree.",
                )
    for match in ended(game, seed, effort.decisions):
        drawn = [event for event in match.events if event.seat == CHANCE]
        if drawn and not spec.chance:
            raise CheckFailed(
                f"the spec says chance=False, but chance drew {drawn[0].move!r}.",
                where=after(match),
                do="say chance=True.",
            )
        for event in match.events:
            if type(event.seat) is not int or not CHANCE <= event.seat < game.seats or type(event.move) is not str:
                raise CheckFailed(
                    f"the event {event!r} is not of a seat (a whole number) and a move (text).",
                    where=after(match),
                    do="record Event(seat, move), with seat CHANCE for chance: events are written to JSON.",
                )


def _need(holds: bool, what: str, do: str) -> None:
    if not holds:
        raise CheckFailed(f"{what}.", do=do)
