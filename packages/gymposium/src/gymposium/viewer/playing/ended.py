"""How a match ended, in words for the person who played it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.driver import MatchResult
from gymposium.ending import OVER

_RESULTS = {"win": "You win.", "loss": "You lose.", "draw": "A draw."}


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a match. By then nothing is secret any more."""

    sentences: Sequence[str]
    results: Sequence[str]
    """`win`, `loss`, `draw` or `score` for each seat; () where the match broke off."""
    returns: Sequence[float]
    seed: int
    record: str | None
    """The match's id among the records; None where it could not be written."""


def ended(played: MatchResult, seat: int, record: str | None, *more: str) -> Ended:
    """`more` are sentences to add."""
    results = [played.result(one) for one in range(len(played.utilities))]
    said = [*_sentences(played, seat, results), *more]
    return Ended(said, results, played.returns, played.job.seed, record)


def _sentences(played: MatchResult, seat: int, results: Sequence[str]) -> list[str]:
    if played.ending.broke_off:
        return [played.ending.in_words(), "Nobody has lost it."]
    if len(results) == 1:
        return [f"The game is over. Your score is {played.returns[0]:g}."]
    said = [_RESULTS[results[seat]]]
    if played.ending != OVER:
        said.append(played.ending.in_words(lambda seat: f"Seat {seat} ({played.job.players[seat].name})"))
    return said
