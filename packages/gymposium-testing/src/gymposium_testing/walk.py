"""Iterators over match positions: in random matches, and in records."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gymposium.errors import IllegalMove, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Game, Match, Style
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks.tools import format_calls, list_tools
from gymposium.tasks.tools.random_calls import random_call
from gymposium.util.streams import stream
from gymposium_testing.contract import CheckFailed, after

BEGIN = 10
"""Cost of starting a match, in decisions. In some games the start is most of the work."""

_WORDS = ("0", "1", "2", "3", "5", "7", "10", "yes", "no", "a", "x", "I do not know", "çé ∑", "{}")


def some_text(game: Game, prompt: str, rng: random.Random) -> str:
    """Return a short text that a reader of the prompt might reply: a call to one of the game's tools, or else a word or
    line from the prompt, or a common answer."""
    if tools := list_tools(game):
        return format_calls([random_call(tools, prompt, rng)])
    pieces = (prompt.split(), [line.strip() for line in prompt.split("\n") if line.strip()], _WORDS)
    some = pieces[int(rng.random() * 3)] or _WORDS
    return some[int(rng.random() * len(some))]


def any_move(match: Match, seat: int, rng: random.Random) -> str:
    """Return a random legal move, or a short text in a free-text game."""
    legal = match.legal_moves(seat)
    if legal is None:
        return some_text(match.game, match.observe(seat, "compact").text, rng)
    if not legal:
        raise CheckFailed(
            f"seat {seat} is to move but has no legal move.",
            where=after(match, seat),
            do="let to_move() return only seats that can move, and () when the match is over.",
        )
    return legal[int(rng.random() * len(legal))]


def any_moves(match: Match, rng: random.Random) -> dict[int, str]:
    """Return a random move for each seat that must move."""
    return {seat: any_move(match, seat, rng) for seat in match.to_move()}


def any_reply(game: Game, info: Mapping[str, Any], text: str, rng: random.Random) -> str:
    """Return a random reply to what an environment shows: a legal move from its info, or a short text."""
    legal = info.get("legal_moves")
    return legal[int(rng.random() * len(legal))] if legal else some_text(game, text, rng)


class AnyPlayer:
    """A player for every game: random legal moves, or short texts in free-text games, from the seat's own stream."""

    name = "any"
    reader: Reader = READERS["move"]
    style: Style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def _choose(self, ask: Ask) -> str:
        moves, rng = ask.legal_moves, ask.rng
        if moves is None:
            return some_text(ask.game, ask.observe("compact").text, rng)
        return moves[int(rng.random() * len(moves))]


def steps(match: Match, rng: random.Random, moves: list[dict[int, str]] | None = None) -> Iterator[Match]:
    """Yield the match before each decision and once more at its end, playing random moves in between.

    The moves are appended to `moves`."""
    most = 10 * match.game.max_decisions + 1000  # far more than the game promises; another check compares the two
    for _ in range(most):
        yield match
        if not match.to_move():
            return
        joint = any_moves(match, rng)
        match.apply(joint)
        if moves is not None:
            moves.append(joint)
    raise CheckFailed(
        f"a random match is unfinished after {most} decisions.",
        where=f"{match.game.name}, seed {match.seed}",
        do="end it: a match may have at most max_decisions decisions.",
    )


def played(game: Game, seed: int, decisions: int) -> Iterator[Match]:
    """Yield random matches at each decision and at the end, until the budget is spent (at least one whole match).

    The yielded match continues afterwards."""
    return (match for [match] in alike(game, seed, decisions, 1))


def alike(game: Game, seed: int, decisions: int, count: int = 2) -> Iterator[list[Match]]:
    """Yield `count` matches with one seed and the same random moves, where and as long as `played` yields a match."""
    number = 0
    while decisions > 0:
        decisions -= BEGIN
        first, *others = matches = [game.new(match_seed(seed, number)) for _ in range(count)]
        moves: list[dict[int, str]] = []
        for _ in steps(first, stream(seed, "moves", number), moves):
            for other in others if moves else ():
                other.apply(moves[-1])
            yield matches
            decisions -= 1
        number += 1


def ended(game: Game, seed: int, decisions: int) -> Iterator[Match]:
    """Return the random matches of `played`, each at its end."""
    return (match for match in played(game, seed, decisions) if not match.to_move())


def match_seed(seed: int, number: int) -> int:
    """Return the seed of the match with this number in a check."""
    return stream(seed, "match", number).getrandbits(31)


def play_out(match: Match, rng: random.Random) -> list[dict[int, str]]:
    """Play random moves to the end of a match, and return the moves of each `apply`."""
    moves: list[dict[int, str]] = []
    for _ in steps(match, rng, moves):
        pass
    return moves


def play_chance(match: Match, rng: random.Random, start: int = 0) -> tuple[Event, ...]:
    """Play random moves to the end of a match, and return the chance events from event `start` on."""
    play_out(match, rng)
    return tuple(event for event in match.events[start:] if event.seat == CHANCE)


def positions(load: Callable[[Sequence[Event]], Match], events: Sequence[Event]) -> Iterator[Match]:
    """Yield the match at each decision of a record and at its end, loaded with `load`.

    Raises `BadRecord` if the events break the rules or end before a chance outcome."""
    end = 0
    while True:
        while end < len(events) and events[end].seat == CHANCE:
            end += 1
        match = load(events[:end])
        yield match
        if end == len(events):
            return
        end += max(1, len(match.to_move()))


def play_moves(match: Match, moves: Iterable[Mapping[int, str]]) -> None:
    """Play these moves until the match refuses one."""
    with suppress(IllegalMove, WrongSeat):
        for joint in moves:
            match.apply(joint)
