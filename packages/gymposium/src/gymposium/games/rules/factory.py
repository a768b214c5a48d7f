"""Factory of games from an author's rules class. It plays a first decision to find mistakes early."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_args

from gymposium.errors import PluginError
from gymposium.games.protocol import Style
from gymposium.games.rules.checks import RulesError, is_number, make_rules
from gymposium.games.rules.game import RulesGame
from gymposium.games.rules.protocol import Rules, S

if TYPE_CHECKING:
    from gymposium.plugins.specs import GameSpec


def make_game_factory(author: Callable[..., Rules[S]]) -> Callable[[GameSpec, Mapping[str, Any]], RulesGame[S]]:
    """Return the factory for a spec's `entry_point`, made from a `Rules` class:

        class Nim:
            ...

        game = make_game_factory(Nim)  # entry_point="nim:game"

    The class is called with the game's parameters as keyword arguments, once per set of parameters. Making the game
    raises `PluginError` if a method is missing or returns a wrong value.
    """

    def game(spec: GameSpec, params: Mapping[str, Any]) -> RulesGame[S]:
        made = RulesGame(spec, params, make_rules(author, spec, params))
        _check_first_decision(made)
        return made

    return game


def _check_first_decision(game: RulesGame[Any]) -> None:
    """Play one decision and call every method before and after it. Raises `PluginError`."""
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
            elif (answer := rules.legal_moves(match.state, seat)) is not None:
                raise RulesError(f"{called}.legal_moves must return None in a free-text game, not {answer!r}.")
        if not match.to_move():
            raise RulesError(f"{called}: the match is over before any seat has moved.")
        if not moves:
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
