"""Checks of an author's rules class when the game is made, with errors that say what to write."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gymposium.errors import PluginError
from gymposium.games.rules.protocol import HasChance, HasTensor, HasView, Rules, S

if TYPE_CHECKING:
    from gymposium.plugins.specs import GameSpec


class RulesError(Exception):
    """A method of an author's rules returned a wrong value. The message names the method and says what to return."""


_ATTRIBUTES = {
    "moves": 'moves = ["left", "right"]  (the name of every move; None for free text)',
    "utility_range": "utility_range = (-1.0, 1.0)  (least and greatest return of a seat)",
    "max_decisions": "max_decisions = 10  (upper bound on the decisions of a match)",
}
_METHODS = {
    "start": "start(self)  (the position that a match begins with)",
    "to_move": "to_move(self, state)  (the seats to move; () when it is over)",
    "legal_moves": "legal_moves(self, state, seat)  (names from `moves`; None for free text)",
    "play": "play(self, state, moves)  (the position after these moves)",
    "returns": "returns(self, state)  (the sum of rewards so far for each seat)",
    "rules": "rules(self, seat, style)  (the rules in words)",
    "position": "position(self, state, seat, style)  (what the seat may know, in words)",
}
_OPTIONAL = {
    "chance": "chance(self, state)  (the possible outcomes with their weights)",
    "view": "view(self, state, seat)  (a key of what the seat knows)",
    "tensor": "tensor(self, state, seat)  (what the seat knows, as numbers)",
    "resample": "resample(self, events, seat, rng)  (events that the seat cannot tell from these)",
    "picture": "picture(self, state, seat, events)  (a picture of what the seat knows)",
}


def make_rules(author: Callable[..., Rules[S]], spec: GameSpec, params: Mapping[str, Any]) -> Rules[S]:
    """Make the author's rules with these parameters. Raises `PluginError` if they do not follow the protocol."""
    called = getattr(author, "__name__", repr(author))
    try:
        inspect.signature(author).bind(**params)
    except TypeError as error:
        raise PluginError(
            f"{called} must accept the parameters of the game {spec.name} as keyword arguments "
            f"({', '.join(params) or 'there are none'}): {error}."
        ) from error
    rules = author(**params)
    try:
        _check_methods(called, rules)
        _check_attributes(called, rules, spec, params)
    except RulesError as error:
        raise PluginError(str(error)) from None
    return rules


def _check_methods(called: str, rules: object) -> None:
    """Raise `RulesError` unless every method exists and takes the right arguments."""
    missing = [form for name, form in (_ATTRIBUTES | _METHODS).items() if not hasattr(rules, name)]
    if missing:
        raise RulesError(f"{called} is incomplete. It lacks: {'; '.join(missing)}.")
    for name, form in (_METHODS | _OPTIONAL).items():
        method = getattr(rules, name, None)
        if method is None:
            continue
        arguments = form[form.index("(") + 1 : form.index(")")].split(", ")[1:]
        try:
            inspect.signature(method).bind(*arguments)
        except TypeError as error:
            raise RulesError(f"{called}.{name} must have the signature  def {form}: {error}.") from error


def _check_attributes(called: str, rules: Rules[Any], spec: GameSpec, params: Mapping[str, Any]) -> None:
    """Raise `RulesError` unless the attributes have the right types and agree with the spec."""
    moves: object = rules.moves
    if (moves is None) != spec.free_text:
        raise RulesError(
            f"{called}.moves is {'None' if moves is None else 'a list of moves'}, but the spec says "
            f"free_text={spec.free_text}. Use `moves = None` with `free_text=True`, and a list otherwise."
        )
    if moves is not None:
        if not isinstance(moves, Sequence) or isinstance(moves, str) or not moves:
            raise RulesError(f"{called}.moves must be a list of names, not {moves!r}.")
        for move in moves:
            if not isinstance(move, str) or not move or move != move.strip() or "\n" in move:
                raise RulesError(
                    f"{called}.moves contains {move!r}. A move must be one line of text without surrounding spaces."
                )
        twice = sorted({move for move in moves if list(moves).count(move) > 1})
        if twice:
            raise RulesError(f"{called}.moves has duplicates: {', '.join(map(repr, twice))}.")
    seats = spec.count_seats(params)
    if (own := getattr(rules, "seats", seats)) != seats:
        raise RulesError(
            f"{called}.seats is {own!r}, but the spec gives this game {seats} seats. Set seats={own!r} "
            f"in the spec, or declare a parameter named `players`."
        )
    span: object = rules.utility_range
    if not isinstance(span, tuple) or len(span) != 2 or not all(map(is_number, span)) or span[0] > span[1]:
        raise RulesError(f"{called}.utility_range must be two numbers, the lower first, not {span!r}.")
    longest: object = rules.max_decisions
    if type(longest) is not int or longest < 1:
        raise RulesError(f"{called}.max_decisions must be a whole number, 1 or more, not {longest!r}.")
    if isinstance(rules, HasChance) != spec.chance:
        raise RulesError(
            f"{called} has {'a' if not spec.chance else 'no'} method `chance`, but the spec says chance={spec.chance}. "
            f"Add both  def {_OPTIONAL['chance']}  and chance=True, or neither."
        )
    if spec.information == "imperfect" and not isinstance(rules, HasView):
        raise RulesError(
            f"The spec says that {spec.name} has hidden information (information='imperfect'), but {called} does not "
            f"say what a seat knows. Add  def {_OPTIONAL['view']}."
        )
    if hasattr(rules, "tensor") != hasattr(rules, "tensor_shape"):
        raise RulesError(f"{called} has only one of `tensor` and `tensor_shape`. Define both or neither.")
    if isinstance(rules, HasTensor):
        shape: object = rules.tensor_shape
        if not isinstance(shape, tuple) or not all(type(size) is int and size > 0 for size in shape):
            raise RulesError(f"{called}.tensor_shape must be a tuple of sizes, not {shape!r}.")


def is_number(value: object) -> bool:
    """Return whether a value is a number, but not a bool or NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value
