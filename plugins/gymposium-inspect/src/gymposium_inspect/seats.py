"""Samples: the matches of an evaluation, each with its seeds and the seat of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from inspect_ai.dataset import Sample

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match.seating import even_share, seats_of, seeds_of

MATCHES = 100
"""The number of matches by default, before it is rounded up to a multiple of the number of seats."""


@dataclass(frozen=True, slots=True)
class MatchSeat:
    """One match of an evaluation and the seat that the model has in it. It stands in the metadata of the sample."""

    game: str
    """Full name of the game."""
    number: int
    """The match's place in the evaluation, from 0."""
    seed: int
    """Seed of the match's chance."""
    player_seed: int
    """Seed of the opponents' streams."""
    seat: int

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> MatchSeat:
        """The match of a sample with this metadata. Raises `BadOption` if it describes none."""
        try:
            return cls(**{field.name: metadata[field.name] for field in fields(cls)})
        except KeyError as error:
            raise BadOption(
                f"The metadata of a sample has no {error.args[0]!r}: make the dataset with gymposium_inspect.samples()."
            ) from None

    @property
    def sample(self) -> Sample:
        """The sample of this match."""
        said = f"{self.game}: match {self.number}, seat {self.seat}"
        return Sample(input=said, id=self.number, metadata=asdict(self))


def samples(game: str | Game, *, matches: int | None = None, seed: int = 0, seat: int | str = "all") -> list[Sample]:
    """The samples of an evaluation, as `gymposium eval` plans it: with the same `seed` the matches have the same seeds.

    With `seat="all"` the model takes the seats in turn, and the matches of one round over the seats share their deal;
    otherwise it always has this seat, and each match has a deal of its own. By default 100 matches are played, or the
    next multiple of the number of seats. Raises `BadOption` for a number of matches
    below 1 or one that the seats cannot share evenly, and for a seat that the game does not have, otherwise as
    `load_game`."""
    opened = load_game(game) if isinstance(game, str) else game
    if matches is None:
        matches = even_share(MATCHES, opened)
    check_integer("matches", matches, least=1)
    check_integer("seed", seed)
    swap = seat == "all"
    if not swap and (isinstance(seat, bool) or not isinstance(seat, int) or seat not in range(opened.seats)):
        raise BadOption(f"seat={seat!r}: write all, or a seat of {opened.name} from 0 to {opened.seats - 1}.")
    if swap and matches % opened.seats:
        raise BadOption(
            f"matches={matches}: {opened.seats} seats cannot share them evenly; take a multiple of {opened.seats}, or "
            f"one seat (seat=0)."
        )
    planned = []
    for number in range(matches):
        match_seed, player_seed = seeds_of(number, opened.seats, seed=seed, swap=swap)
        mine = seats_of(number, opened.seats, swap=True).index(0) if swap else int(seat)
        planned.append(MatchSeat(opened.name, number, match_seed, player_seed, mine).sample)
    return planned


def check_integer(name: str, value: object, *, least: int | None = None) -> None:
    """Raises `BadOption` for anything but an integer, and for one below `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        raise BadOption(f"{name}={value!r}: write an integer{'' if least is None else f' from {least}'}.")
