"""Check prompts for every seat, in both styles, with example parameters and random ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, NoReturn

from gymposium.envs.spaces import MAX_TEXT
from gymposium.errors import BadParameter
from gymposium.games.protocol import Game
from gymposium.plugins.specs import GameSpec, Parameter
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import READERS
from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_testing.contract import (
    NORMAL,
    CheckFailed,
    Effort,
    NotApplicable,
    describe_position,
    format_error,
    require,
    shorten,
)
from gymposium_testing.parameters import make_game, try_parameters
from gymposium_testing.positions import STYLES
from gymposium_testing.walk import derive_match_seed, play_matches, play_out

_SLOT = re.compile(r"\{[A-Za-z_0-9.!:]*\}|%\([a-z_]+\)|%[sd]\b|<[\w.]+ object at")
_NOTHING = re.compile(r"\bNone\b|\bnan\b")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]|<\|[a-z_]+\|>")

Facts = Callable[[Game, int], Iterable[str]]
"""A function that returns texts required in a seat's full rules or first prompt, made from the game's numbers."""


def rules_are_well_formed(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Every seat has rules in both styles, which never change and have no unfilled slot."""
    for seat, style in product(range(game.seats), STYLES):
        text = game.rules(seat, style)
        where = f"{game.name}, {style} rules of seat {seat}"
        _check_text(text, where)
        if slot := _find_empty_slot(game, text):
            _fail(f"an empty slot: {slot!r} in {shorten(text)}", where)
        if text != game.rules(seat, style):
            _fail("rules() returns a different text each time", where)


def _find_empty_slot(game: Game, text: str) -> str | None:
    """Return an unfilled format slot, or None. Free-text games may mention None and nan."""
    slot = _SLOT.search(text) or (None if game.spec.free_text else _NOTHING.search(text))
    return None if slot is None else slot[0]


def _check_text(text: object, where: str) -> None:
    if not isinstance(text, str) or not text.strip():
        _fail(f"{text!r} instead of a text", where)
    if not text.endswith("\n"):
        _fail(f"no final line break: {shorten(text[-40:])}", where)
    if control := _CONTROL.search(text):
        _fail(f"a control character or token: {control[0]!r}", where)
    if len(text) > MAX_TEXT // 2:
        _fail(f"{len(text)} characters; rules and a position together are limited to {MAX_TEXT}", where)


def _fail(what: str, where: str) -> NoReturn:
    raise CheckFailed(
        f"{what}.", where=where, fix="write plain text that ends with a line break, and fill every slot from the game."
    )


def prompts_are_complete(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """At every decision the prompt contains the rules and each legal move; compact observations name the moves.

    Games with too many moves to list name their form instead.

    Texts are plain, within the length limit, and the same each time."""
    rules = {(seat, style): game.rules(seat, style) for seat, style in product(range(game.seats), STYLES)}
    for match in play_matches(game, seed, effort.decisions):
        texts: list[str] = []
        for seat, style in rules:
            observation = match.observe(seat, style)
            texts.append(observation.text)
            where = f"{describe_position(match, seat)}, {style}"
            _check_text(observation.text, where)
            if observation.seat != seat:
                _fail(f"the observation from observe({seat}) says seat {observation.seat}", where)
            if not game.spec.free_text and (slot := _find_empty_slot(game, observation.text)):
                _fail(f"an empty slot: {slot!r}", where)
            if seat not in match.to_move():
                continue
            prompt = get_prompt(game, style, READERS["move"])(observation)
            if len(prompt) > MAX_TEXT:
                _fail(f"a prompt of {len(prompt)} characters; environments allow {MAX_TEXT}", where)
            if not prompt.startswith(rules[seat, style]):
                _fail("rules() changed after the match began", where)
            named = prompt if style == "full" else observation.text  # full prompts list the moves automatically
            expected = [observation.move_form] if observation.move_form else observation.legal_moves or ()
            if missing := [move for move in expected if move not in named]:
                raise CheckFailed(
                    f"the {'prompt' if style == 'full' else 'text'} does not name the legal moves {shorten(missing)}.",
                    where=where,
                    fix="let observe(seat, 'compact') end with a line such as 'legal a1 b2'; full prompts list the "
                    "observation's moves automatically.",
                )
        if texts != [match.observe(seat, style).text for seat, style in rules]:
            _fail("observe() returns a different text each time", describe_position(match))


def prompts_state_the_parameters(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Changing a parameter changes what each seat reads before the first move, in every deal."""
    if not spec.parameters:
        raise NotApplicable("the game has no parameters")
    default = make_game(spec, {})
    for parameter in spec.parameters:
        for value in _list_values(parameter):
            if value == parameter.default:
                continue
            try:
                game = make_game(spec, {parameter.name: value})
            except BadParameter:
                continue  # incompatible with the other parameters' defaults
            in_rules = all(game.rules(seat) != default.rules(seat) for seat in range(min(game.seats, default.seats)))
            # observations may differ by chance in one deal
            for number in range(1 if in_rules else effort.draws * 2):
                match = derive_match_seed(seed, number)
                texts, by_default = _render_first_prompts(game, match), _render_first_prompts(default, match)
                silent = [seat for seat, (one, other) in enumerate(zip(texts, by_default)) if one == other]
                if silent:
                    who = "every seat" if len(silent) == len(by_default) else f"seat {silent[0]}"
                    raise CheckFailed(
                        f"with {parameter.name}={value!r} {who} reads the same as with {parameter.default!r}.",
                        where=spec.name,
                        fix=f"state the value of {parameter.name} in rules() or observe(). Read it from the game "
                        "instead of hard-coding it.",
                    )


def _list_values(parameter: Parameter) -> Iterable[Any]:
    if parameter.choices is not None:
        return parameter.choices
    if isinstance(parameter.default, bool):
        return (True, False)
    return [type(parameter.default)(value) for value in (parameter.low, parameter.high) if value is not None]


def _render_first_prompts(game: Game, seed: int) -> list[str]:
    match = game.new(seed)
    return [game.rules(seat) + match.observe(seat).text for seat in range(game.seats)]


def random_parameters_are_playable(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """With random parameters within their bounds, games have rules and end with returns in range."""
    if not spec.parameters:
        raise NotApplicable("the game has no parameters")

    def use(params: dict[str, Any]) -> None:
        game = make_game(spec, params)
        rules_are_well_formed(game, seed, effort)
        match = game.new(derive_match_seed(seed, 0))
        try:
            moves = play_out(match, stream(seed, "moves"))
        except CheckFailed:
            raise
        except Exception as error:  # a game may raise anything
            raise CheckFailed(
                f"a match fails: {format_error(error)}",
                where=describe_position(match),
                fix="narrow the bounds, or raise BadParameter from the game for incompatible values.",
            ) from error
        low, high = game.utility_range
        decisions = sum(map(len, moves))
        require(
            decisions <= game.max_decisions and all(low - 1e-9 <= r <= high + 1e-9 for r in match.returns()),
            f"a match of {quantity(decisions, 'decision')} (at most {game.max_decisions}) returns "
            f"{match.returns()} (within {game.utility_range})",
            "compute max_decisions and utility_range from the parameters.",
            describe_position(match),
        )

    try_parameters(spec, effort.draws, use)


def check_facts(game: Game, facts: Facts, seed: int = 0) -> None:
    """Raise `CheckFailed` unless each seat's full rules or first observation contain the facts."""
    match = game.new(seed)
    for seat in range(game.seats):
        text = game.rules(seat) + match.observe(seat).text
        for fact in facts(game, seat):
            what = f"seat {seat} is not told {fact!r}"
            require(fact in text, what, "state it in rules(), using the game's own numbers.", game.name)
