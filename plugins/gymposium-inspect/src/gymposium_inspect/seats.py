"""Samples: the matches of an evaluation, each with its seeds and the model's seat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from inspect_ai.dataset import Sample

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match.result import check_integer
from gymposium.match.seating import assign_seats, derive_seeds, round_up_matches

MATCHES = 100
"""The default number of matches, before rounding up to a multiple of the number of seats."""


@dataclass(frozen=True, slots=True)
class MatchSeat:
    """One match of an evaluation and the model's seat in it, stored in the sample's metadata."""

    game: str
    """Full name of the game."""
    number: int
    """The match's index in the evaluation, from 0."""
    seed: int
    """Seed of the match's chance outcomes."""
    player_seed: int
    """Seed of the opponents' random streams."""
    seat: int

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> MatchSeat:
        """Return the match of a sample with this metadata. Raises `BadOption` if it describes none."""
        try:
            return cls(**{field.name: metadata[field.name] for field in fields(cls)})
        except KeyError as error:
            raise BadOption(
                f"A sample's metadata has no {error.args[0]!r}. Make the dataset with gymposium_inspect.make_samples()."
            ) from None

    @property
    def sample(self) -> Sample:
        """Return this match's sample."""
        said = f"{self.game}: match {self.number}, seat {self.seat}"
        return Sample(input=said, id=self.number, metadata=asdict(self))


def make_samples(
    game: str | Game, *, matches: int | None = None, seed: int = 0, seat: int | str = "all"
) -> list[Sample]:
    """Return an evaluation's samples, planned like `gymposium eval`: equal `seed`s give matches with equal seeds.

    With `seat="all"`, the model plays each deal once from each seat. Otherwise it always has this seat, and each match
    has a different deal. By default 100 matches are played, or the next multiple of the number of seats. Raises
    `BadOption` for a number of matches below 1 or not divisible by the
    number of seats, and for an invalid seat; otherwise like `load_game`."""
    opened = load_game(game) if isinstance(game, str) else game
    if matches is None:
        matches = round_up_matches(MATCHES, opened)
    check_integer("matches", matches, least=1)
    check_integer("seed", seed)
    swap = seat == "all"
    if not swap and (isinstance(seat, bool) or not isinstance(seat, int) or seat not in range(opened.seats)):
        raise BadOption(f"seat={seat!r}: use all, or a seat of {opened.name} from 0 to {opened.seats - 1}.")
    if swap and matches % opened.seats:
        raise BadOption(
            f"matches={matches}: {opened.seats} seats cannot share them evenly. Use a multiple of {opened.seats}, or "
            f"one seat (seat=0)."
        )
    planned = []
    for number in range(matches):
        match_seed, player_seed = derive_seeds(number, opened.seats, seed=seed, swap=swap)
        mine = assign_seats(number, opened.seats, swap=True).index(0) if swap else int(seat)
        planned.append(MatchSeat(opened.name, number, match_seed, player_seed, mine).sample)
    return planned
