"""Inspect logs: the records of their matches, and the paired difference between two logs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path

from inspect_ai.log import EvalSample, read_eval_log, read_eval_log_samples

from gymposium.errors import BadOption
from gymposium.records import Record
from gymposium.records.scores import Estimate, estimate_mean
from gymposium_inspect.playing import RECORD
from gymposium_inspect.scoring import compute_figures
from gymposium_inspect.seats import MatchSeat

_UNREAD = {"events", "messages", "output"}
"""The large parts of a sample, which are not read."""


def list_records(log: str | Path) -> Iterator[Record]:
    """Yield the match records in an Inspect log, `.eval` or `.json`, in sample order. Unfinished matches have none.

    Raises `BadRecord` for a record that cannot be read, and Inspect's errors for a file that is not a log."""
    for _, record in _read_matches(log):
        yield record


def _read_matches(log: str | Path) -> Iterator[tuple[EvalSample, Record]]:
    for sample in _read_samples(log):
        if (stored := sample.store.get(RECORD)) is not None:
            yield sample, Record.parse(json.dumps(stored))


def _read_samples(log: str | Path) -> Iterator[EvalSample]:
    if Path(log).suffix == ".json":  # one document, which would be reread for each sample
        yield from read_eval_log(log, resolve_attachments=True).samples or ()
    else:
        yield from read_eval_log_samples(
            log, all_samples_required=False, resolve_attachments=True, exclude_fields=_UNREAD
        )


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The difference between two models on the same matches."""

    first: float
    """Mean figure in the first log, over matches that are in both."""
    second: float
    """Mean figure in the second log, over matches that are in both."""
    difference: Estimate
    """Mean of the first minus the second, over deals (seeds), with its 95% interval (Student's t). Matches on the same
    deal are averaged, since they are not independent. With a single deal there is no interval (NaN). With few deals the
    interval is unreliable: its width is zero if all differences are equal."""
    deals: int
    """Number of deals."""
    matches: int
    """Number of matches in both logs."""
    left_out: int
    """Number of finished matches in only one log."""


def compare_logs(first: str | Path, second: str | Path, figure: str = "return") -> PairedDifference:
    """Compare two logs of the same matches: the same game, seeds, seats, opponents and policy for failed replies.
    `figure` is a figure of `outcome`: `return`, `win`, `forfeit`, …

    Raises `BadOption` for an unknown figure and for logs without common matches, and otherwise like `records`."""
    ones, others = _read_figures(first, figure), _read_figures(second, figure)
    common = [match for match in ones if match in others]
    if not common:
        raise BadOption(
            f"{first} and {second} have no finished match in common. Evaluate both models with the same game, seed, "
            f"matches, seat, opponent and on_illegal."
        )
    deals: defaultdict[int, list[float]] = defaultdict(list)
    for match in common:
        deals[match[0]].append(ones[match] - others[match])
    return PairedDifference(
        first=_compute_mean([ones[match] for match in common]),
        second=_compute_mean([others[match] for match in common]),
        difference=estimate_mean([_compute_mean(differences) for differences in deals.values()]),
        deals=len(deals),
        matches=len(common),
        left_out=len(ones) + len(others) - 2 * len(common),
    )


def _read_figures(log: str | Path, figure: str) -> dict[tuple[int, Hashable], float]:
    """Return the figure of each finished match, by its seed and its other settings."""
    found: dict[tuple[int, Hashable], float] = {}
    for sample, record in _read_matches(log):
        if record.ending.broke_off:
            continue
        seat = MatchSeat.from_metadata(sample.metadata).seat
        values = compute_figures(record, seat)
        if figure not in values:
            raise BadOption(f"figure={figure!r}: use one of {', '.join(values)}.")
        others = tuple(name for number, name in enumerate(record.players) if number != seat)
        shared = (record.game, record.player_seed, seat, others, record.on_illegal, sample.epoch)
        found[record.seed, shared] = values[figure]
    return found


def _compute_mean(values: list[float]) -> float:
    return sum(values) / len(values)
