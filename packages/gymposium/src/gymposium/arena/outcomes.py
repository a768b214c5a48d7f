"""From match records to what ratings are made of: who met whom, and what it paid them.

Tournaments write records, ratings read outcomes, and neither knows of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from gymposium.games.protocol import CHANCE
from gymposium.records import Record


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one match ended."""

    game: str
    """The game's full name."""
    group: str
    """What is drawn together where a game is resampled: matches on the same deal, whoever played them."""
    players: tuple[str, ...]
    """By seat."""
    utilities: tuple[float, ...]
    """What the game paid each seat; a forfeit counts, penalties do not."""
    forfeit: int | None
    """The seat whose reply, silence or crash ended the match."""
    digest: str
    """Two outcomes of the same players in the same seats with the same digest are one match."""


def outcomes_of(records: Iterable[Record]) -> Iterator[Outcome]:
    """The outcomes of records. Matches that broke off with an error are left out: they are nobody's loss."""
    for record in records:
        if record.ending.broke_off:
            continue
        yield Outcome(
            game=record.game,
            group=str(record.seed),
            players=tuple(record.players),
            utilities=tuple(paid + record.penalties.get(str(s), 0.0) for s, paid in enumerate(record.returns)),
            forfeit=record.ending.seat,
            digest=_digest(record),
        )


def _digest(record: Record) -> str:
    """Where neither chance nor a player draws anything, and only the opening makes matches differ, equal events are the
    same match played again. Elsewhere equal events are two draws that came out alike, and both count: to drop one would
    make what is likely look rare. A record that stands there twice counts once all the same."""
    drawn = record.opening == 0 or any(event.seat == CHANCE for event in record.events)
    inputs = repr((record.id if drawn else "", record.events, record.ending.seat))
    return blake2b(inputs.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def distinct(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Each match once, in an order that does not depend on the order of `outcomes`."""
    found: dict[tuple[str, tuple[str, ...], str], Outcome] = {}
    for outcome in outcomes:
        key = (outcome.game, outcome.players, outcome.digest)
        # of equal matches the same one stays, in whatever order they come
        if key not in found or outcome.group < found[key].group:
            found[key] = outcome
    return [found[key] for key in sorted(found)]
