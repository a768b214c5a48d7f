"""Match outcomes: the part of match records that ratings are computed from.

Tournaments write records and ratings read outcomes; neither depends on the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from gymposium.games.protocol import CHANCE
from gymposium.records import Record


@dataclass(frozen=True, slots=True)
class MatchOutcome:
    """The players, utilities and forfeit of one match."""

    game: str
    """The game's full name."""
    group: str
    """The bootstrap cluster of the match: all matches on the same deal share it, whichever players played them."""
    players: tuple[str, ...]
    """The player in each seat."""
    utilities: tuple[float, ...]
    """The return of each seat, with a forfeit and without penalties."""
    forfeit: int | None
    """The seat that forfeited, or None."""
    digest: str
    """Outcomes of the same players in the same seats with equal digests are the same match."""
    corrected: tuple[float, ...] | None = None
    """The utilities corrected for luck (`gymposium.analysis.exact.corrected`); None if they were not."""


def outcomes_of(records: Iterable[Record]) -> Iterator[MatchOutcome]:
    """The outcomes of records, without matches that broke off, which have no result."""
    for record in records:
        if record.ending.broke_off:
            continue
        yield MatchOutcome(
            game=record.game,
            group=str(record.seed),
            players=tuple(record.players),
            utilities=record.utilities,
            forfeit=record.ending.seat,
            digest=_digest(record),
        )


def _digest(record: Record) -> str:
    """Digest by which repeated matches are recognized.

    If nothing in a match is random but its opening, matches with equal events are the same match played again.
    Otherwise they are two random samples that happen to be equal and both count, since dropping one would underweight
    likely outcomes. A record that occurs twice always counts once."""
    random = record.opening == 0 or any(event.seat == CHANCE for event in record.events)
    inputs = repr((record.id if random else "", record.events, record.ending.seat))
    return blake2b(inputs.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def distinct(outcomes: Iterable[MatchOutcome]) -> list[MatchOutcome]:
    """The outcomes without repeated matches, in an order that does not depend on the order of `outcomes`."""
    kept: dict[tuple[str, tuple[str, ...], str], MatchOutcome] = {}
    for outcome in outcomes:
        key = (outcome.game, outcome.players, outcome.digest)
        # keep the same one of equal matches, regardless of their order
        if key not in kept or outcome.group < kept[key].group:
            kept[key] = outcome
    return [kept[key] for key in sorted(kept)]
