"""Play random moves and matches, and iterate over their positions."""

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
from gymposium.tasks.tools.random_calls import make_random_call
from gymposium.util.streams import stream
from gymposium_testing.contract import CheckFailed, describe_position

START_COST = 10
"""Cost of starting a match, counted in decisions."""

_WORDS = ("0", "1", "2", "3", "5", "7", "10", "yes", "no", "a", "x", "I do not know", "çé ∑", "{}")


def draw_text(game: Game, prompt: str, rng: random.Random) -> str:
    """Draw a short free-text reply.

    It is a call to one of the game's tools if it has any. Otherwise it is a word or line from the prompt, or a common
    answer."""
    if tools := list_tools(game):
        return format_calls([make_random_call(tools, prompt, rng)])
    pieces = (prompt.split(), [line.strip() for line in prompt.split("\n") if line.strip()], _WORDS)
    some = pieces[int(rng.random() * 3)] or _WORDS
    return some[int(rng.random() * len(some))]


def draw_move(match: Match, seat: int, rng: random.Random) -> str:
    """Draw a legal move, or a short text in a free-text game."""
    legal = match.legal_moves(seat)
    if legal is None:
        return draw_text(match.game, match.observe(seat, "compact").text, rng)
    if not legal:
        raise CheckFailed(
            f"seat {seat} is to move but has no legal move.",
            where=describe_position(match, seat),
            fix="let to_move() return only seats that can move, and () when the match is over.",
        )
    return legal[int(rng.random() * len(legal))]


def draw_moves(match: Match, rng: random.Random) -> dict[int, str]:
    """Draw a move for each seat to move."""
    return {seat: draw_move(match, seat, rng) for seat in match.to_move()}


def draw_reply(game: Game, info: Mapping[str, Any], text: str, rng: random.Random) -> str:
    """Draw a reply to an environment's observation: a legal move from its info, or a short text."""
    legal = info.get("legal_moves")
    return legal[int(rng.random() * len(legal))] if legal else draw_text(game, text, rng)


class AnyPlayer:
    """A player for every game: random legal moves, or short texts in free-text games."""

    name = "any"
    reader: Reader = READERS["move"]
    style: Style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def _choose(self, ask: Ask) -> str:
        moves, rng = ask.legal_moves, ask.rng
        if moves is None:
            return draw_text(ask.game, ask.observe("compact").text, rng)
        return moves[int(rng.random() * len(moves))]


def play_steps(match: Match, rng: random.Random, moves: list[dict[int, str]] | None = None) -> Iterator[Match]:
    """Play random moves, and yield the match before each decision and at its end. Moves are appended to `moves`."""
    most = 10 * match.game.max_decisions + 1000  # a safety limit; another check compares the two
    for _ in range(most):
        yield match
        if not match.to_move():
            return
        joint = draw_moves(match, rng)
        match.apply(joint)
        if moves is not None:
            moves.append(joint)
    raise CheckFailed(
        f"a random match is unfinished after {most} decisions.",
        where=f"{match.game.name}, seed {match.seed}",
        fix="end it: a match may have at most max_decisions decisions.",
    )


def play_matches(game: Game, seed: int, decisions: int) -> Iterator[Match]:
    """Play random matches, and yield them at each decision and at the end, until the budget is spent.

    At least one match is played to its end. The match that exceeds the budget is yielded at growing distances, and at
    its end. A yielded match continues when the iterator advances."""
    return (match for [match] in play_copies(game, seed, decisions, 1))


def play_copies(game: Game, seed: int, decisions: int, count: int = 2) -> Iterator[list[Match]]:
    """Like `play_matches`, but play `count` copies of each match with equal seeds and moves."""
    number = 0
    while decisions > 0:
        decisions -= START_COST
        first, *others = matches = [game.new(derive_match_seed(seed, number)) for _ in range(count)]
        moves: list[dict[int, str]] = []
        skipped = distance = 0
        for _ in play_steps(first, stream(seed, "moves", number), moves):
            for other in others if moves else ():
                other.apply(moves[-1])
            if skipped < distance and first.to_move():
                skipped += 1
                continue
            yield matches
            decisions -= 1
            skipped = 0
            distance += decisions < 0
        number += 1


def play_to_end(game: Game, seed: int, decisions: int) -> Iterator[Match]:
    """Yield the matches of `play_matches`, each at its end."""
    return (match for match in play_matches(game, seed, decisions) if not match.to_move())


def derive_match_seed(seed: int, number: int) -> int:
    """Derive the seed of a check's match from its number."""
    return stream(seed, "match", number).getrandbits(31)


def play_out(match: Match, rng: random.Random) -> list[dict[int, str]]:
    """Play random moves to the end of a match, and return each step's moves."""
    moves: list[dict[int, str]] = []
    for _ in play_steps(match, rng, moves):
        pass
    return moves


def play_chance(match: Match, rng: random.Random, start: int = 0) -> tuple[Event, ...]:
    """Play random moves to the end of a match, and return the chance events from event `start` on."""
    play_out(match, rng)
    return tuple(event for event in match.events[start:] if event.seat == CHANCE)


def load_positions(load: Callable[[Sequence[Event]], Match], events: Sequence[Event]) -> Iterator[Match]:
    """Load a record's match, and yield it at each decision and at its end.

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
    """Play these moves until one is illegal."""
    with suppress(IllegalMove, WrongSeat):
        for joint in moves:
            match.apply(joint)
