"""Summarize a player's results by opponent and seat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean

from gymposium_arena.site.played import PlayedLineup, PlayedMatch


@dataclass(frozen=True, slots=True)
class SeatLine:
    """A player's results in one game against one opponent from one seat, without duplicates."""

    game: str
    opponent: str
    seat: int
    matches: int
    won: int
    drawn: int
    lost: int
    decided: bool
    """False in games without winners."""
    returned: float
    """The mean return."""


def make_seat_lines(player: str, lineups: Iterable[PlayedLineup]) -> Iterator[SeatLine]:
    """Yield a player's lines by game and opponent in lineup order, then by seat."""
    met: defaultdict[tuple[str, str], defaultdict[int, list[PlayedMatch]]] = defaultdict(lambda: defaultdict(list))
    for lineup in lineups:
        for opponent in lineup.players:
            if opponent == player or player not in lineup.players:
                continue
            for match in lineup.matches:
                if match.counts:
                    met[lineup.game, opponent][match.players.index(player)].append(match)
    for (game, opponent), seats in met.items():
        for seat, matches in sorted(seats.items()):
            results = [match.results[seat] for match in matches]
            won, drawn, lost = (results.count(how) for how in ("win", "draw", "loss"))
            returned = fmean(match.returns[seat] for match in matches)
            decided = won + drawn + lost > 0
            yield SeatLine(game, opponent, seat, len(matches), won, drawn, lost, decided, returned)
