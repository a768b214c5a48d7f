"""How a match ended, in words for the person who played it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.driver import MatchResult

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
    if played.error is not None:
        return ["The match broke off, so nobody has lost it.", played.error]
    if len(results) == 1:
        return [f"The game is over. Your score is {played.returns[0]:g}."]
    said = [_RESULTS[results[seat]]]
    loser = played.forfeit
    if loser is not None:
        who = f"Seat {loser} ({played.job.players[loser].name})"
        if loser in played.timed_out:
            why = "did not answer in time"
        elif loser in played.out_of_context:
            why = "had no room to answer: the prompt fills all that it can read"
        elif loser in played.crashed:
            why = f"crashed: {played.crashed[loser]}"
        else:
            why = "gave no legal move"
        said.append(f"{who} {why}, and forfeits.")
    return said
