"""Match outcomes: the part of a match record that ratings need."""

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
    """The bootstrap cluster, shared by all matches on the same deal, regardless of players."""
    players: tuple[str, ...]
    """The player in each seat."""
    utilities: tuple[float, ...]
    """The return of each seat, with forfeits but without penalties."""
    forfeit: int | None
    """The forfeiting seat, or None."""
    digest: str
    """Digest of the match: two outcomes with equal digests and players are duplicates."""
    corrected: tuple[float, ...] | None = None
    """Luck-corrected utilities (`gymposium.analysis.exact.corrected`), or None."""


def read_outcomes(records: Iterable[Record]) -> Iterator[MatchOutcome]:
    """Yield the outcomes of the matches that did not break off."""
    for record in records:
        if record.ending.broke_off:
            continue
        yield MatchOutcome(
            game=record.game,
            group=str(record.seed),
            players=tuple(record.players),
            utilities=record.utilities,
            forfeit=record.ending.seat,
            digest=_compute_digest(record),
        )


def _compute_digest(record: Record) -> str:
    """Return the digest that identifies duplicate matches.

    If only the opening is random, matches with equal events are duplicates. Otherwise they are equal random samples
    that both count, since dropping one would underweight likely outcomes. Copies of a record are always duplicates."""
    random = record.opening == 0 or any(event.seat == CHANCE for event in record.events)
    inputs = repr((record.id if random else "", record.events, record.ending.seat))
    return blake2b(inputs.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def drop_duplicates(outcomes: Iterable[MatchOutcome]) -> list[MatchOutcome]:
    """Drop duplicate matches, and return the rest in an order independent of the input order."""
    kept: dict[tuple[str, tuple[str, ...], str], MatchOutcome] = {}
    for outcome in outcomes:
        key = (outcome.game, outcome.players, outcome.digest)
        # of equal matches keep the same one, regardless of order
        if key not in kept or outcome.group < kept[key].group:
            kept[key] = outcome
    return [kept[key] for key in sorted(kept)]
