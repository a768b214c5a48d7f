"""Checks of prompts: for every seat, both styles, the examples and drawn parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gymposium.envs.spaces import MAX_TEXT
from gymposium.errors import BadParameter
from gymposium.games.protocol import Game
from gymposium.plugins.specs import GameSpec, Parameter
from gymposium.prompt import prompt_for
from gymposium.reading import READERS
from gymposium.streams import stream
from gymposium.testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, after, short
from gymposium.testing.parameters import for_drawn_parameters, make_game
from gymposium.testing.positions import STYLES
from gymposium.testing.walk import match_seed, play_out, played

_SLOT = re.compile(r"\{[A-Za-z_0-9.!:]*\}|%\([a-z_]+\)|%[sd]\b|<[\w.]+ object at")
_NOTHING = re.compile(r"\bNone\b|\bnan\b")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]|<\|[a-z_]+\|>")

Facts = Callable[[Game, int], Iterable[str]]
"""Texts that the full rules or the first prompt of a seat must contain, made from the game's own numbers."""


def rules_are_well_formed(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """The rules exist for every seat in both styles, are the same each time, and have every slot filled."""
    for seat in range(game.seats):
        for style in STYLES:
            text = game.rules(seat, style)
            where = f"{game.name}, {style} rules of seat {seat}"
            _well_formed(text, where)
            if found := _empty_slot(game, text):
                _bad(f"an empty slot: {found!r} in {short(text)}", where)
            if text != game.rules(seat, style):
                _bad("they are not the same each time", where)


def _empty_slot(game: Game, text: str) -> str | None:
    """Return a format slot that was not filled, or None. Games of free text may mention None and nan."""
    found = _SLOT.search(text) or (None if game.spec.free_text else _NOTHING.search(text))
    return None if found is None else found[0]


def _well_formed(text: object, where: str) -> None:
    if not isinstance(text, str) or not text.strip():
        _bad(f"{text!r} instead of words", where)
    elif not text.endswith("\n"):
        _bad(f"the last line is not ended: {short(text[-40:])}", where)
    elif found := _CONTROL.search(text):
        _bad(f"a control character or token: {found[0]!r}", where)
    elif len(text) > MAX_TEXT // 2:
        _bad(f"{len(text)} characters, where an observation may have {MAX_TEXT}", where)


def _bad(what: str, where: str) -> None:
    raise CheckFailed(
        f"{what}.", where=where, do="write plain text that ends with a line break, every slot filled from the game."
    )


def prompts_are_whole(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """At every decision the full prompt has the rules and each legal move.

    Texts are plain, short enough, and the same each time."""
    texts = {seat: [game.rules(seat, style) for style in STYLES] for seat in range(game.seats)}
    for match in played(game, seed, effort.decisions):
        for seat in range(game.seats):
            for style in STYLES:
                observation = match.observe(seat, style)
                where = f"{after(match, seat)}, {style}"
                _well_formed(observation.text, where)
                if observation.seat != seat:
                    _bad(f"observe({seat}) says that it is of seat {observation.seat}", where)
                if not game.spec.free_text and (found := _empty_slot(game, observation.text)):
                    _bad(f"an empty slot: {found!r}", where)
                if seat not in match.to_move():
                    continue
                prompt = prompt_for(game, style, READERS["move"])(observation)
                if len(prompt) > MAX_TEXT:
                    _bad(f"a prompt of {len(prompt)} characters; environments take {MAX_TEXT}", where)
                if not prompt.startswith(texts[seat][STYLES.index(style)]):
                    _bad("rules() has changed since the match began", where)
                missing = [move for move in observation.legal_moves or () if move not in prompt]
                if style == "full" and missing:
                    _bad(f"the prompt does not name the legal moves {short(missing)}", where)
        again = [match.observe(seat, style).text for seat in range(game.seats) for style in STYLES]
        if again != [match.observe(seat, style).text for seat in range(game.seats) for style in STYLES]:
            _bad("observe() is not the same each time", after(match))


def parameters_are_told(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Two games that differ in one parameter differ in what each seat reads before the first move, in every deal."""
    if not spec.parameters:
        raise NotApplicable("the game has no parameters")
    for number in range(effort.draws * 2):  # several deals, as one deal may differ by chance
        match = match_seed(seed, number)
        told = _first_prompts(spec, {}, match)
        for parameter in spec.parameters:
            for value in _values(parameter):
                if value == parameter.default:
                    continue
                try:
                    texts = _first_prompts(spec, {parameter.name: value}, match)
                except BadParameter:
                    continue  # does not go with the other parameters' defaults
                silent = [seat for seat, (one, other) in enumerate(zip(texts, told)) if one == other]
                if silent:
                    who = "every seat" if len(silent) == len(told) else f"seat {silent[0]}"
                    raise CheckFailed(
                        f"with {parameter.name}={value!r} {who} reads the same as with {parameter.default!r}.",
                        where=spec.name,
                        do="tell it in rules() or observe(), from the game's own number: a prompt must tell the truth.",
                    )


def _values(parameter: Parameter) -> Iterable[Any]:
    if parameter.choices is not None:
        return parameter.choices
    if isinstance(parameter.default, bool):
        return (True, False)
    return [type(parameter.default)(value) for value in (parameter.low, parameter.high) if value is not None]


def _first_prompts(spec: GameSpec, params: Mapping[str, Any], seed: int) -> list[str]:
    game = make_game(spec, params)
    match = game.new(seed)
    return [game.rules(seat) + match.observe(seat).text for seat in range(game.seats)]


def drawn_parameters_play(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """With parameters drawn within their bounds, games have rules and play to an end with returns in range."""
    if not spec.parameters:
        raise NotApplicable("the game has no parameters")

    def use(params: dict[str, Any]) -> None:
        game = make_game(spec, params)
        rules_are_well_formed(game, seed, effort)
        match = game.new(match_seed(seed, 0))
        try:
            given = play_out(match, stream(seed, "moves"))
        except CheckFailed:
            raise
        except Exception as error:  # a game may raise anything
            raise CheckFailed(
                f"a match fails: {type(error).__name__}: {short(str(error))}",
                where=after(match),
                do="narrow the bounds, or raise BadParameter from the game where values do not go together.",
            ) from error
        low, high = game.utility_range
        if sum(map(len, given)) > game.max_decisions or not all(
            low - 1e-9 <= r <= high + 1e-9 for r in match.returns()
        ):
            raise CheckFailed(
                f"a match of {sum(map(len, given))} decisions (at most {game.max_decisions}) returns {match.returns()} "
                f"(within {game.utility_range}).",
                where=after(match),
                do="work out max_decisions and utility_range from the parameters.",
            )

    for_drawn_parameters(spec, effort.draws, use)


def facts_are_told(game: Game, facts: Facts, seed: int = 0) -> None:
    """Raise `CheckFailed` unless the full rules and first text of each seat contain the facts."""
    match = game.new(seed)
    for seat in range(game.seats):
        text = game.rules(seat) + match.observe(seat).text
        for fact in facts(game, seat):
            if fact not in text:
                raise CheckFailed(
                    f"seat {seat} is not told {fact!r}.",
                    where=game.name,
                    do="say it in rules(), from the game's own numbers.",
                )
