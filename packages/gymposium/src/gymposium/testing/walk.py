"""Walking along matches: as they are played, or by loading ever longer pieces of a record."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from gymposium.errors import IllegalMove, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Game, Match, Style
from gymposium.players.protocol import Ask, Reply
from gymposium.reading import READERS, Reader
from gymposium.streams import stream
from gymposium.testing.failed import CheckFailed, after

BEGIN = 10
"""What beginning a match costs, in decisions: in some games it is all the work."""

_WORDS = ("0", "1", "2", "3", "5", "7", "10", "yes", "no", "a", "x", "I do not know", "çé ∑", "{}")


def some_text(seen: str, rng: random.Random) -> str:
    """A short text that somebody might write who has read `seen`: a word or a line of it, or one of a few
    texts that fit many questions."""
    pieces = (seen.split(), [line.strip() for line in seen.split("\n") if line.strip()], _WORDS)
    some = pieces[int(rng.random() * 3)] or _WORDS
    return some[int(rng.random() * len(some))]


def any_move(match: Match, seat: int, rng: random.Random) -> str:
    """A legal move; in a game of free text, some text."""
    legal = match.legal_moves(seat)
    if legal is None:
        return some_text(match.observe(seat, "compact").text, rng)
    if not legal:
        raise CheckFailed(
            f"seat {seat} is to move but has no legal move.",
            where=after(match, seat),
            do="let to_move() name only seats that can move, and () when the match is over.",
        )
    return legal[int(rng.random() * len(legal))]


def any_moves(match: Match, rng: random.Random) -> dict[int, str]:
    """A move for each seat that must move."""
    return {seat: any_move(match, seat, rng) for seat in match.to_move()}


class AnyPlayer:
    """Plays every game: a legal move at random, and in games of free text a short text, all from the seat's
    own stream."""

    name = "any"
    reader: Reader = READERS["move"]
    style: Style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def _choose(self, ask: Ask) -> str:
        moves = ask.legal_moves
        if moves is None:
            return some_text(ask.observe("compact").text, ask.rng)
        return moves[int(ask.rng.random() * len(moves))]


def steps(match: Match, rng: random.Random, given: list[dict[int, str]] | None = None) -> Iterator[Match]:
    """The match itself before each decision, played on at random, and once more when it is over. The moves
    are appended to `given`."""
    most = 10 * match.game.max_decisions + 1000  # far beyond what the game says, which another check holds it to
    for _ in range(most):
        yield match
        if not match.to_move():
            return
        moves = any_moves(match, rng)
        match.apply(moves)
        if given is not None:
            given.append(moves)
    raise CheckFailed(
        f"a random match goes on after {most} decisions.",
        where=f"{match.game.name}, seed {match.seed}",
        do="end it: no match may have more than max_decisions decisions.",
    )


def played(game: Game, seed: int, decisions: int) -> Iterator[Match]:
    """Random matches from their beginning to their end, each decision and each end, until the budget is spent
    (one whole match at least). What is yielded is played on."""
    number = 0
    while decisions > 0:
        decisions -= BEGIN
        for match in steps(game.new(match_seed(seed, number)), stream(seed, "moves", number)):
            yield match
            decisions -= 1
        number += 1


def ended(game: Game, seed: int, decisions: int) -> Iterator[Match]:
    """The random matches of `played`, each when it is over."""
    return (match for match in played(game, seed, decisions) if not match.to_move())


def match_seed(seed: int, number: int) -> int:
    """The seed of one of the matches of a check."""
    return stream(seed, "match", number).getrandbits(31)


def play_out(match: Match, rng: random.Random) -> list[dict[int, str]]:
    """Play a match to its end at random; the moves that were given to `apply`."""
    given: list[dict[int, str]] = []
    for _ in steps(match, rng, given):
        pass
    return given


def positions(game: Game, events: Sequence[Event]) -> Iterator[Match]:
    """The match at each decision of a record, and at its end: chance drawn, the next seats to move.

    Raises `BadRecord` where the events do not follow from the rules, or end before a chance outcome."""
    end = 0
    while True:
        while end < len(events) and events[end].seat == CHANCE:
            end += 1
        match = game.load(events[:end])
        yield match
        if end == len(events):
            return
        end += max(1, len(match.to_move()))


def play_moves(match: Match, moves: Sequence[Mapping[int, str]]) -> bool:
    """Play the match on by these moves, up to the first that it refuses. Whether it took them all."""
    try:
        for one in moves:
            match.apply(one)
    except (IllegalMove, WrongSeat):
        return False
    return True
