"""Who sits where, and from which seeds: the matches of a comparison between players."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gymposium.driver import MatchJob
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player
from gymposium.streams import stream


def seated_jobs(
    game: Game,
    players: Sequence[Player],
    matches: int,
    *,
    seed: int,
    swap: bool,
    tag: str,
    on_illegal: FailurePolicy,
) -> Iterator[tuple[MatchJob, list[int]]]:
    """Jobs, each with the index of the player in each seat. With `swap` the players move one seat on from
    match to match, and the matches of one round over the seats share a match seed, so that every player
    gets every deal. The players' own streams differ from match to match. Ids begin with `tag`."""
    for number in range(matches):
        deal = number // game.seats if swap else number
        order = seats_of(number, game.seats, swap=swap)
        yield (
            MatchJob(
                id=f"{tag}-{number}",
                game=game,
                players=[players[index] for index in order],
                seed=stream(seed, "deal", deal).getrandbits(48),
                player_seed=stream(seed, "players", number).getrandbits(48),
                on_illegal=on_illegal,
            ),
            order,
        )


def seats_of(number: int, seats: int, *, swap: bool) -> list[int]:
    """The index of the player in each seat, in the match of this number."""
    shift = number % seats if swap else 0
    return [(seat - shift) % seats for seat in range(seats)]


def planned(tag: str, matches: int) -> dict[str, int]:
    """The number of each of these matches by its id."""
    return {f"{tag}-{number}": number for number in range(matches)}
