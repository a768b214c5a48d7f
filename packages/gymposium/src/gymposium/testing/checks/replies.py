"""Replies that nobody hoped for: illegal, garbage, empty, control tokens, huge."""

from __future__ import annotations

import random
from collections.abc import Sequence

from gymposium.errors import IllegalMove
from gymposium.games.protocol import Game, Match
from gymposium.reading import KINDS, READERS, is_encodable, read
from gymposium.streams import stream
from gymposium.testing.contract import NORMAL, CheckFailed, Effort, after, short
from gymposium.testing.positions import difference, position
from gymposium.testing.walk import BEGIN, any_move, any_moves, match_seed, played

_HOSTILE: tuple[str, ...] = (
    "",
    " ",
    "\n\n",
    "no such move",
    "I would like to play the best move, please.",
    "<|im_end|>",
    "<|im_start|>assistant\n",
    "</s><s>[INST]",
    "<think>",
    "</think></move>",
    "<move></move>",
    "<move><move>x</move></move>",
    '{"move": null}',
    '{"move": {"move": "x"}}',
    "[" * 2_000,
    "\0",
    "\x1b[2J\r\b\x7f",
    "‮‏﻿​",
    "\ud800",
    "١٢٣",
    "Ａ１",
    "🂡" * 40,
    "%s {0} {move} $x `id`",
    "-1",
    "1e999",
    "9" * 5_000,
    "a " * 50_000,
)
"""Texts that a model, or an enemy, may write."""


def hostile_replies_are_read(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Every hostile text has a reading, and none is taken for a move; nor does `move_pattern` take what is empty,
    huge or of several lines for the shape of one."""
    pattern = game.move_pattern
    if pattern is not None and not game.spec.free_text:
        for text in ("", "\n", "a\nb", "a " * 50_000):
            if pattern.fullmatch(text):
                raise CheckFailed(
                    f"move_pattern {pattern.pattern!r} takes {short(text, 40)} for the shape of a move.",
                    where=game.name,
                    do="match what could be a move in some position and no more: it tells illegal from unparsable.",
                )
    for match in played(game, seed, effort.decisions // 8):
        for seat in match.to_move():
            legal = match.legal_moves(seat)
            for text in hostile_texts(legal):
                for how in READERS.values():
                    reading = read(text, legal, how, pattern)
                    offered = how.submission(text)
                    right = reading.kind in KINDS and (reading.kind == "move") == (
                        offered is not None
                        and offered.strip() != ""
                        and (is_encodable(offered) if legal is None else offered.strip() in legal)
                    )
                    if not right or not isinstance(reading.reason(legal), str):
                        raise CheckFailed(
                            f"{short(text, 60)} reads as {short(reading, 80)}.",
                            where=after(match, seat),
                            do="give legal_moves() as a list of the exact texts.",
                        )


def hostile_texts(legal: Sequence[str] | None) -> list[str]:
    """The hostile texts, with some that are almost a legal move."""
    some = legal[0] if legal else "x"
    return [*_HOSTILE, some + "<|im_end|>", some + " " + some, some.upper() + "!", f"<move>{some}", some * 3_000]


def refused_moves_change_nothing(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A move that is not legal is IllegalMove and nothing else; the match stays as it was and goes on as it would
    have. A game of free text takes every text."""
    number, left = 0, effort.decisions // 8
    while left > 0:
        match, untouched = (game.new(match_seed(seed, number)) for _ in range(2))
        rng = stream(seed, "moves", number)
        while seats := match.to_move():
            if game.spec.free_text:
                _takes_all(match)
            else:
                for seat in seats:
                    _refuses_all(match, seat)
            moves = any_moves(match, rng)
            match.apply(moves)
            untouched.apply(moves)
            if match.events != untouched.events:
                raise CheckFailed(
                    f"after refused moves the match goes another way: {short(match.events[-1])} instead of "
                    f"{short(untouched.events[-1])}.",
                    where=after(match),
                    do="check every move before anything is drawn or changed.",
                )
            left -= 1
        left -= BEGIN
        number += 1


def _refuses_all(match: Match, seat: int) -> None:
    legal = match.legal_moves(seat) or []
    rng = random.Random(0)
    others = {other: any_move(match, other, rng) for other in match.to_move()}
    before = list(match.events), position(match)
    where, do = after(match, seat), "raise IllegalMove(seat, move, legal_moves) before anything is changed."
    for text in hostile_texts(legal):
        if text in legal:
            continue
        try:
            match.apply({**others, seat: text})
        except IllegalMove as error:
            if error.legal_moves != legal or error.seat != seat:
                raise CheckFailed(
                    f"the refusal of {short(text, 60)} is of seat {error.seat} and lists {short(error.legal_moves)}, "
                    f"but legal are {short(legal)}.",
                    where=where,
                    do=do,
                ) from error
        except Exception as error:  # whatever a stranger's game may raise
            raise CheckFailed(
                f"the move {short(text, 60)} raises {type(error).__name__}: {short(str(error))}.", where=where, do=do
            ) from error
        else:
            raise CheckFailed(f"the move {short(text, 60)} is accepted, though it is not listed.", where=where, do=do)
        if list(match.events) != before[0]:
            raise CheckFailed(f"the refused move {short(text, 60)} left events behind.", where=where, do=do)
    differs = difference(before[1], position(match))
    if differs is not None:
        raise CheckFailed(f"refused moves changed the {differs}.", where=where, do=do)


def _takes_all(match: Match) -> None:
    for text in filter(str.strip, _HOSTILE):
        copy = match.fork(random.Random(0))
        moves = dict.fromkeys(match.to_move(), text)
        try:
            copy.apply(moves)
        except Exception as error:  # whatever a stranger's game may raise
            raise CheckFailed(
                f"the text {short(text, 60)} raises {type(error).__name__}: {short(str(error))}.",
                where=after(match),
                do="take every text: where there is no list of legal moves, any text is one.",
            ) from error
        said = {event.seat: event.move for event in copy.events[len(match.events) :] if event.seat in moves}
        if said != moves:
            raise CheckFailed(
                f"the text {short(text, 60)} stands in the events as {short(said)}.",
                where=after(match),
                do="record the text as it was given.",
            )
