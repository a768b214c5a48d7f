"""Checks of prompts: for every seat, in both styles, with the examples' parameters and with random ones."""

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
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, after, raised, require, short
from gymposium_testing.parameters import for_drawn_parameters, make_game
from gymposium_testing.positions import STYLES
from gymposium_testing.walk import match_seed, play_out, played

_SLOT = re.compile(r"\{[A-Za-z_0-9.!:]*\}|%\([a-z_]+\)|%[sd]\b|<[\w.]+ object at")
_NOTHING = re.compile(r"\bNone\b|\bnan\b")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]|<\|[a-z_]+\|>")

Facts = Callable[[Game, int], Iterable[str]]
"""Function that returns texts required in a seat's full rules or first prompt, made from the game's own numbers."""


def rules_are_well_formed(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Every seat has rules in both styles, the same each time, with every slot filled."""
    for seat, style in product(range(game.seats), STYLES):
        text = game.rules(seat, style)
        where = f"{game.name}, {style} rules of seat {seat}"
        _well_formed(text, where)
        if slot := _empty_slot(game, text):
            _bad(f"an empty slot: {slot!r} in {short(text)}", where)
        if text != game.rules(seat, style):
            _bad("rules() returns a different text each time", where)


def _empty_slot(game: Game, text: str) -> str | None:
    """Return an unfilled format slot, or None. Games of free text may mention None and nan."""
    slot = _SLOT.search(text) or (None if game.spec.free_text else _NOTHING.search(text))
    return None if slot is None else slot[0]


def _well_formed(text: object, where: str) -> None:
    if not isinstance(text, str) or not text.strip():
        _bad(f"{text!r} instead of a text", where)
    if not text.endswith("\n"):
        _bad(f"no final line break: {short(text[-40:])}", where)
    if control := _CONTROL.search(text):
        _bad(f"a control character or token: {control[0]!r}", where)
    if len(text) > MAX_TEXT // 2:
        _bad(f"{len(text)} characters; rules and a position together are limited to {MAX_TEXT}", where)


def _bad(what: str, where: str) -> NoReturn:
    raise CheckFailed(
        f"{what}.", where=where, do="write plain text that ends with a line break, and fill every slot from the game."
    )


def prompts_are_whole(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """At every decision the prompt has the rules and each legal move; in compact style the observation names the moves.

    Texts are plain, short enough, and the same each time."""
    rules = {(seat, style): game.rules(seat, style) for seat, style in product(range(game.seats), STYLES)}
    for match in played(game, seed, effort.decisions):
        texts: list[str] = []
        for seat, style in rules:
            observation = match.observe(seat, style)
            texts.append(observation.text)
            where = f"{after(match, seat)}, {style}"
            _well_formed(observation.text, where)
            if observation.seat != seat:
                _bad(f"the observation from observe({seat}) says seat {observation.seat}", where)
            if not game.spec.free_text and (slot := _empty_slot(game, observation.text)):
                _bad(f"an empty slot: {slot!r}", where)
            if seat not in match.to_move():
                continue
            prompt = get_prompt(game, style, READERS["move"])(observation)
            if len(prompt) > MAX_TEXT:
                _bad(f"a prompt of {len(prompt)} characters; environments allow {MAX_TEXT}", where)
            if not prompt.startswith(rules[seat, style]):
                _bad("rules() changed after the match began", where)
            named = prompt if style == "full" else observation.text  # full prompts list them after the observation
            if missing := [move for move in observation.legal_moves or () if move not in named]:
                raise CheckFailed(
                    f"the {'prompt' if style == 'full' else 'text'} does not name the legal moves {short(missing)}.",
                    where=where,
                    do="let observe(seat, 'compact') end with a line such as 'legal a1 b2'; full prompts list the "
                    "observation's moves automatically.",
                )
        if texts != [match.observe(seat, style).text for seat, style in rules]:
            _bad("observe() returns a different text each time", after(match))


def parameters_are_told(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Two games that differ in one parameter differ in what each seat reads before the first move, in every deal."""
    if not spec.parameters:
        raise NotApplicable("the game has no parameters")
    default = make_game(spec, {})
    for parameter in spec.parameters:
        for value in _values(parameter):
            if value == parameter.default:
                continue
            try:
                game = make_game(spec, {parameter.name: value})
            except BadParameter:
                continue  # incompatible with the other parameters' defaults
            in_rules = all(game.rules(seat) != default.rules(seat) for seat in range(min(game.seats, default.seats)))
            # texts outside the rules may differ by chance in one deal
            for number in range(1 if in_rules else effort.draws * 2):
                match = match_seed(seed, number)
                texts, by_default = _first_prompts(game, match), _first_prompts(default, match)
                silent = [seat for seat, (one, other) in enumerate(zip(texts, by_default)) if one == other]
                if silent:
                    who = "every seat" if len(silent) == len(by_default) else f"seat {silent[0]}"
                    raise CheckFailed(
                        f"with {parameter.name}={value!r} {who} reads the same as with {parameter.default!r}.",
                        where=spec.name,
                        do="state it in rules() or observe(), using the game's own number: a prompt must be true.",
                    )


def _values(parameter: Parameter) -> Iterable[Any]:
    if parameter.choices is not None:
        return parameter.choices
    if isinstance(parameter.default, bool):
        return (True, False)
    return [type(parameter.default)(value) for value in (parameter.low, parameter.high) if value is not None]


def _first_prompts(game: Game, seed: int) -> list[str]:
    match = game.new(seed)
    return [game.rules(seat) + match.observe(seat).text for seat in range(game.seats)]


def drawn_parameters_play(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """With parameters drawn within their bounds, games have rules and play to the end with returns in range."""
    if not spec.parameters:
        raise NotApplicable("the game has no parameters")

    def use(params: dict[str, Any]) -> None:
        game = make_game(spec, params)
        rules_are_well_formed(game, seed, effort)
        match = game.new(match_seed(seed, 0))
        try:
            moves = play_out(match, stream(seed, "moves"))
        except CheckFailed:
            raise
        except Exception as error:  # a game may raise anything
            raise CheckFailed(
                f"a match fails: {raised(error)}",
                where=after(match),
                do="narrow the bounds, or raise BadParameter from the game for incompatible values.",
            ) from error
        low, high = game.utility_range
        decisions = sum(map(len, moves))
        require(
            decisions <= game.max_decisions and all(low - 1e-9 <= r <= high + 1e-9 for r in match.returns()),
            f"a match of {quantity(decisions, 'decision')} (at most {game.max_decisions}) returns "
            f"{match.returns()} "
            f"(within {game.utility_range})",
            "compute max_decisions and utility_range from the parameters.",
            after(match),
        )

    for_drawn_parameters(spec, effort.draws, use)


def facts_are_told(game: Game, facts: Facts, seed: int = 0) -> None:
    """Raise `CheckFailed` unless the full rules and first text of each seat contain the facts."""
    match = game.new(seed)
    for seat in range(game.seats):
        text = game.rules(seat) + match.observe(seat).text
        for fact in facts(game, seat):
            what = f"seat {seat} is not told {fact!r}"
            require(fact in text, what, "state it in rules(), using the game's own numbers.", game.name)
