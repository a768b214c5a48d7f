"""The factory that makes games from an author's rules class. It checks the class and plays a first decision."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from gymposium.errors import PluginError
from gymposium.games.protocol import Style
from gymposium.games.rules.game import RulesGame
from gymposium.games.rules.protocol import HasChance, HasTensor, HasView, Rules, RulesError, S

if TYPE_CHECKING:
    from gymposium.plugins.specs import GameSpec


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
    "move_form": "move_form(self, state, seat)  (what the legal moves look like, if they are too many to list)",
    "tensor": "tensor(self, state, seat)  (what the seat knows, as numbers)",
    "resample": "resample(self, events, seat, rng)  (events that the seat cannot tell from these)",
    "draw_picture": "draw_picture(self, state, seat, events)  (a picture of what the seat knows)",
}


def make_rules(author: Callable[..., Rules[S]], spec: GameSpec, params: Mapping[str, Any]) -> Rules[S]:
    """Instantiate the author's rules class with these parameters.

    Raises `PluginError` if it does not follow the protocol."""
    called = getattr(author, "__name__", repr(author))
    try:
        inspect.signature(author).bind(**params)
    except TypeError as error:
        raise PluginError(
            f"{called} does not accept the parameters of the game {spec.name} ({error}). Give it these keyword "
            f"arguments, and defaults for all others: {', '.join(params) or 'none'}."
        ) from error
    rules = author(**params)
    try:
        _check_methods(called, rules)
        _check_attributes(called, rules, spec, params)
    except RulesError as error:
        raise PluginError(str(error)) from None
    return rules


def _check_methods(called: str, rules: object) -> None:
    """Raise `RulesError` unless every required method exists and takes the right arguments."""
    missing = [form for name, form in (_ATTRIBUTES | _METHODS).items() if not hasattr(rules, name)]
    if missing:
        raise RulesError(f"{called} is incomplete. Define {'; '.join(missing)}.")
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
        twice = sorted(move for move, count in Counter(moves).items() if count > 1)
        if twice:
            raise RulesError(f"{called}.moves has duplicates: {', '.join(map(repr, twice))}. Name each move once.")
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


def make_game_factory(author: Callable[..., Rules[S]]) -> Callable[[GameSpec, Mapping[str, Any]], RulesGame[S]]:
    """Return the factory for a spec's `entry_point`, made from a `Rules` class:

        class Nim:
            ...

        game = make_game_factory(Nim)  # entry_point="nim:game"

    The class is called with the game's parameters as keyword arguments, once per set of parameters. Making the game
    raises `PluginError` if a method is missing or returns a wrong value.
    """

    def make_game(spec: GameSpec, params: Mapping[str, Any]) -> RulesGame[S]:
        made = RulesGame(spec, params, make_rules(author, spec, params))
        _check_first_decision(made)
        return made

    return make_game


def _check_first_decision(game: RulesGame[Any]) -> None:
    """Play one decision and call every method before and after it.

    Raises `PluginError` if a method fails or returns a wrong value."""
    rules, called = game.author, game.author_name
    try:
        _check_position(called, rules.start(), rules.start())
        match = game.new(0)
        before = match.state, repr(match.state)
        _check_results(game, match.state)
        moves: dict[int, str] = {}
        for seat in match.to_move():
            legal = match.legal_moves(seat)
            if legal is not None:
                moves[seat] = legal[0]
            elif not game.spec.talk and (answer := rules.legal_moves(match.state, seat)) is not None:
                raise RulesError(f"{called}.legal_moves must return None in a free-text game, not {answer!r}.")
        if not match.to_move():
            raise RulesError(
                f"{called}: the match is over before any seat has moved. Return the seats to move from "
                "to_move(start())."
            )
        if len(moves) < len(match.to_move()):
            return  # only the author knows which free-text answers are valid
        match.apply(moves)
        if repr(before[0]) != before[1]:
            raise RulesError(f"{called}.play modified its position argument. It must return a new position.")
        _check_results(game, match.state)
    except RulesError as error:
        raise PluginError(str(error)) from None


def _check_position(called: str, state: object, again: object) -> None:
    what = "Use a NamedTuple, a frozen dataclass or a tuple, and tuples inside it."
    try:
        hash(state)
    except TypeError as error:
        raise RulesError(f"{called}.start must return an immutable position: {error}. {what}") from error
    if state != again:
        raise RulesError(f"{called}.start returned two unequal positions. {what}")


def _check_results(game: RulesGame[Any], state: object) -> None:
    rules, called = game.author, game.author_name
    returns: object = rules.returns(state)
    if not isinstance(returns, tuple) or len(returns) != game.seats or not all(map(is_number, returns)):
        raise RulesError(
            f"{called}.returns must return a tuple of {game.seats} numbers, one for each seat, not {returns!r}."
        )
    for seat in range(game.seats):
        for style in get_args(Style):
            _check_text(f"{called}.rules", rules.rules(seat, style))
            _check_text(f"{called}.position", rules.position(state, seat, style))
        view: object = game.render_view(state, seat)
        if not isinstance(view, str):
            raise RulesError(f"{called}.view must return text, not {view!r}.")
        if game.tensor_shape is not None:
            game.make_tensor(state, seat)


def _check_text(method: str, text: object) -> None:
    if not isinstance(text, str) or not text.endswith("\n"):
        raise RulesError(f"{method} must return text that ends with a newline, not {text!r}.")
