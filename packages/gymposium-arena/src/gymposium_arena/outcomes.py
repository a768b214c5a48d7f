"""Match outcomes: the part of match records that ratings need.

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
    """A match's players, utilities and forfeit."""

    game: str
    """The game's full name."""
    group: str
    """The bootstrap cluster of the match, shared by all matches on the same deal, regardless of players."""
    players: tuple[str, ...]
    """The player in each seat."""
    utilities: tuple[float, ...]
    """The return of each seat, including a forfeit but no penalties."""
    forfeit: int | None
    """The seat that forfeited, or None."""
    digest: str
    """Outcomes with the same players in the same seats and equal digests are the same match."""
    corrected: tuple[float, ...] | None = None
    """The utilities corrected for luck (`gymposium.analysis.exact.corrected`); None if not corrected."""


def read_outcomes(records: Iterable[Record]) -> Iterator[MatchOutcome]:
    """Yield the outcomes of records, except matches that broke off, which have no result."""
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
    """Return the digest that identifies repeated matches.

    If nothing in a match is random but its opening, matches with equal events are the same match.
    Otherwise they are two equal random samples that both count, since dropping one would underweight
    likely outcomes. A record that occurs twice always counts once."""
    random = record.opening == 0 or any(event.seat == CHANCE for event in record.events)
    inputs = repr((record.id if random else "", record.events, record.ending.seat))
    return blake2b(inputs.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def distinct(outcomes: Iterable[MatchOutcome]) -> list[MatchOutcome]:
    """Return the outcomes without repeated matches, in an order independent of the order of `outcomes`."""
    kept: dict[tuple[str, tuple[str, ...], str], MatchOutcome] = {}
    for outcome in outcomes:
        key = (outcome.game, outcome.players, outcome.digest)
        # of equal matches keep the same one, regardless of order
        if key not in kept or outcome.group < kept[key].group:
            kept[key] = outcome
    return [kept[key] for key in sorted(kept)]
