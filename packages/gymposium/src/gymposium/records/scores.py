"""Player scores: rates and means over finished matches, with 95% intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gymposium.errors import UnknownName
from gymposium.games.protocol import require_seat
from gymposium.match.ending import FAILURES, EndingKind
from gymposium.match.failures import FailurePolicy
from gymposium.records.record import Record
from gymposium.replies.reading import KINDS, READERS, get_lenient_reader, read_reply
from gymposium.replies.repetition import ends_in_loop

if TYPE_CHECKING:
    from gymposium.games.protocol import Game
    from gymposium.match import MatchResult

CONFIDENCE = 0.95
RESULTS = ("win", "draw", "loss", "score")
"""The results of a seat in a match; `score` in single-player games."""
_TOLD = frozenset({"unparsable", "cut off"})
"""Readings of replies whose text is examined to advise the user."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Format the estimate as `0.920 [0.850, 0.959]`, with a dash for NaN."""
        value, low, high = (
            "–" if math.isnan(figure) else f"{figure:.3f}" for figure in (self.value, self.low, self.high)
        )
        return f"{value} [{low}, {high}]"


def estimate_rate(count: int, total: int) -> Estimate:
    """Return a proportion with Wilson's score interval.

    The result equals that of `scipy.stats`, which takes a second to import."""
    from scipy.special import ndtri

    if total == 0:
        return Estimate(math.nan, math.nan, math.nan)
    share, z = count / total, float(ndtri((1 + CONFIDENCE) / 2))
    denominator = 2 * (total + z**2)
    center = (2 * total * share + z**2) / denominator
    half = z / denominator * math.sqrt(4 * total * share * (1 - share) + z**2)
    low, high = center - half if count else 0.0, center + half if count < total else 1.0
    return Estimate(share, low, high)


Bounds = tuple[float, float]
"""The minimum and maximum of the possible values."""


def estimate_mean(values: Sequence[float], bounds: Bounds | None = None) -> Estimate:
    """Return a mean with Student's t interval, as in SciPy.

    Fewer than two values, or equal values without bounds, give no interval.

    With `bounds`, the interval stays within them, and covers 95% even for small samples and rare values. Each limit is
    computed with one extra value, which extends the values' range by its width (within the bounds). Equal values get
    the interval of `_bound_constant`."""
    import numpy as np

    if not values:
        return Estimate(math.nan, math.nan, math.nan)
    center = float(np.mean(values))
    if len(values) < 2:
        return Estimate(center, math.nan, math.nan)
    if bounds is None:
        half = math.nan if min(values) == max(values) else _compute_half_width(values)
        return Estimate(center, center - half, center + half)
    least, most = bounds
    low, high = _bound_constant(center, len(values), bounds)
    if not are_equal(values, bounds):
        lowest, highest = min(values), max(values)
        below, above = [*values, max(least, 2 * lowest - highest)], [*values, min(most, 2 * highest - lowest)]
        low = max(least, float(np.mean(below)) - _compute_half_width(below))
        high = min(most, float(np.mean(above)) + _compute_half_width(above))
    return Estimate(center, min(low, center), max(high, center))


def are_equal(values: Sequence[float], bounds: Bounds) -> bool:
    """Return whether values with these bounds are equal, up to rounding."""
    return math.isclose(min(values), max(values), abs_tol=1e-9 * (bounds[1] - bounds[0]))


def estimate_gain(
    before: Sequence[float | None], after: Sequence[float | None], seats: int, bounds: Bounds | None = None
) -> Estimate:
    """Return the mean difference between two series of returns in equal matches, paired by deal.

    The matches of a deal, one per seat, are averaged first, because they share its luck. Deals with a missing return
    are skipped. `bounds` are those of the returns."""
    gains = []
    for first in range(0, min(len(before), len(after)) - seats + 1, seats):
        old, new = before[first : first + seats], after[first : first + seats]
        known = [b - a for a, b in zip(old, new, strict=True) if a is not None and b is not None]
        if len(known) == seats:
            gains.append(math.fsum(known) / seats)
    return estimate_mean(gains, None if bounds is None else get_margin_bounds(bounds))


def compute_deal_ratios(amounts: Sequence[float], counts: Sequence[float]) -> list[float]:
    """Return one value per deal, for a confidence interval of the ratio of total amount to total count.

    The values' mean is this ratio, and their spread is the ratio's in linear approximation (Cochran, 1977, Sampling
    Techniques, section 6.4)."""
    import numpy as np

    paid, count = np.asarray(amounts, dtype=float), np.asarray(counts, dtype=float)
    ratio = paid.sum() / count.sum()
    by_deal: list[float] = (ratio + len(paid) * (paid - ratio * count) / count.sum()).tolist()
    return by_deal


def get_margin_bounds(bounds: Bounds) -> Bounds:
    """Return the minimum and maximum difference between two values within these bounds."""
    return bounds[0] - bounds[1], bounds[1] - bounds[0]


def _compute_half_width(values: Sequence[float]) -> float:
    """Return half the width of Student's t interval."""
    import numpy as np
    from scipy.special import stdtrit

    count = len(values)
    return float(np.std(values, ddof=1) / math.sqrt(count) * stdtrit(count - 1, (1 + CONFIDENCE) / 2))


def _bound_constant(value: float, count: int, bounds: Bounds) -> Bounds:
    """Return the interval of a mean after `count` observations, all equal to `value`.

    If a share p of all values differs, a sample contains none of them with probability (1 - p)^count. The interval
    assumes the p that makes this 2.5%, with all differing values at one bound."""
    least, most = bounds
    share = 1 - ((1 - CONFIDENCE) / 2) ** (1 / count)
    return value - share * (value - least), value + share * (most - value)


def _look_up(kind: str, counts: Mapping[Any, int], name: str) -> int:
    if name not in counts:
        raise UnknownName(kind, name, counts)
    return counts[name]


@dataclass(slots=True)
class Score:
    """One player's results over all its seats. Its representation omits individual matches and replies."""

    returns: list[float] = field(default_factory=list, repr=False)
    bounds: Bounds | None = None
    """Range of possible returns, including penalties, in the games played; None before the first match."""
    results: dict[str, int] = field(default_factory=dict)
    readings: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    forfeits: int = 0
    failures: dict[EndingKind, int] = field(default_factory=lambda: dict.fromkeys(FAILURES, 0))
    """Number of matches that ended with a failure of this player, by kind."""
    prompt_tokens: int = 0
    """Total number of prompt tokens, over all replies with a token count."""
    completion_tokens: list[int] = field(default_factory=list, repr=False)
    """Generated tokens of each reply that has a token count."""
    seconds: list[float] = field(default_factory=list, repr=False)
    """Wall time per reply, if reported."""
    cost: float | None = None
    """Total reported cost of replies; None if no reply reports it."""
    repaired: int = 0
    """Number of malformed replies with a move that a lenient reader found."""
    looping: int = 0
    """Number of replies cut off while repeating themselves."""
    unparsable_example: str | None = field(default=None, repr=False)
    """The first unparsable reply that is not blank, or a blank one if all are."""
    marked_moves: int = 0
    """Number of replies that only a lenient reader would parse as a move, legal or not."""
    reports: dict[str, list[float]] = field(default_factory=dict, repr=False)
    """Extra figures that the matches report (`Reports`), by name."""

    def add(self, played: MatchResult, seat: int) -> None:
        """Count a finished match with the player in `seat`. Raises `BadOption` for an unknown seat."""
        self.add_record(Record.from_match(played), played.job.game, seat)

    def add_record(self, record: Record, game: Game, seat: int) -> None:
        """Count a recorded match of this game with the player in `seat`."""
        require_seat(seat, len(record.returns))
        self.returns.append(record.returns[seat])
        (least, most), policy = game.utility_range, FailurePolicy.parse(record.on_illegal)
        if policy.kind == "penalty":
            least -= policy.tries * policy.cost
        self.bounds = (least, most) if self.bounds is None else (min(least, self.bounds[0]), max(most, self.bounds[1]))
        result = record.results[seat]
        self.results[result] = self.results.get(result, 0) + 1
        self.forfeits += record.ending.seat == seat
        if (failure := record.ending.find_failure(seat)) is not None:
            self.failures[failure.kind] += 1
        for name, value in record.reports[seat].items() if record.reports else ():
            self.reports.setdefault(name, []).append(value)
        for turn in record.turns:
            if turn["seat"] == seat:
                self._add_reply(turn)
                if turn["reading"] in _TOLD:
                    self._add_failure(turn["reading"], turn["text"], record.prompts[seat]["reader"], game)

    def _add_reply(self, turn: Mapping[str, Any]) -> None:
        self.readings[turn["reading"]] += 1
        self.repaired += "repaired" in turn
        prompt, completion = turn.get("tokens", (None, None))
        self.prompt_tokens += prompt or 0
        if completion is not None:
            self.completion_tokens.append(completion)
        if "seconds" in turn:
            self.seconds.append(turn["seconds"])
        if "cost" in turn:
            self.cost = (self.cost or 0.0) + turn["cost"]

    def _add_failure(self, reading: str, text: str, reader: str, game: Game) -> None:
        """Collect data about a cut-off or unparsable reply, for advice to the user."""
        if reading == "cut off":
            self.looping += ends_in_loop(text)
            return
        if not (self.unparsable_example or "").strip():
            self.unparsable_example = text
        if reader in READERS:
            legal: list[str] | None = None if game.spec.free_text else []
            how, calls = get_lenient_reader(READERS[reader]), bool(game.spec.tools)
            self.marked_moves += read_reply(text, legal, how, game.move_pattern, calls=calls).move is not None

    @property
    def matches(self) -> int:
        return len(self.returns)

    def result_rate(self, result: str) -> Estimate:
        """Return the share of matches with this result: `win`, `draw`, `loss` or `score`.

        Raises `UnknownName` for any other."""
        return estimate_rate(_look_up("result", {**dict.fromkeys(RESULTS, 0), **self.results}, result), self.matches)

    def reading_rate(self, kind: str) -> Estimate:
        """Return the share of this player's replies with this reading. Raises `UnknownName` for any other."""
        return estimate_rate(_look_up("reading", self.readings, kind), sum(self.readings.values()))

    def repaired_rate(self) -> Estimate:
        """Return the share of this player's replies that a lenient reader repaired."""
        return estimate_rate(self.repaired, sum(self.readings.values()))

    def mean_return(self) -> Estimate:
        return estimate_mean(self.returns, self.bounds)

    def mean_report(self, name: str) -> Estimate:
        """Return the mean of a reported figure over the finished matches that report it.

        If all values are equal, it has no interval."""
        return estimate_mean(self.reports.get(name, []))

    def reports_all(self, name: str) -> bool:
        """Return whether every match reports this figure, so none ended early."""
        return len(self.reports.get(name, [])) == self.matches

    def failure_rate(self, kind: EndingKind) -> Estimate:
        """Return the share of matches that ended with this kind of failure by this player.

        Raises `UnknownName` for any other."""
        return estimate_rate(_look_up("failure", self.failures, kind), self.matches)

    def tokens_per_move(self) -> Estimate:
        """Return the mean tokens per reply, over replies with a token count."""
        return estimate_mean(self.completion_tokens)

    def seconds_per_move(self) -> Estimate:
        """Return the mean wall time per reply, over replies that report it."""
        return estimate_mean(self.seconds)

    def as_dict(self) -> dict[str, Any]:
        """Return the score as plain data.

        Estimates are `[value, low, high]`, each None if unknown. `usage` is omitted if no reply reports usage."""

        def to_plain(estimate: Estimate) -> list[float | None]:
            return [None if math.isnan(x) else x for x in (estimate.value, estimate.low, estimate.high)]

        kinds = ("score",) if set(self.results) == {"score"} else ("win", "draw", "loss")
        usage: dict[str, Any] = {}
        if self.completion_tokens:
            usage |= {
                "prompt_tokens": self.prompt_tokens,
                "completion_tokens": sum(self.completion_tokens),
                "tokens_per_move": to_plain(self.tokens_per_move()),
            }
        if self.seconds:
            usage |= {"seconds": sum(self.seconds), "seconds_per_move": to_plain(self.seconds_per_move())}
        if self.cost is not None:
            usage["cost"] = self.cost
        return {
            "matches": self.matches,
            "return": to_plain(self.mean_return()),
            "results": {kind: to_plain(self.result_rate(kind)) for kind in kinds},
            "readings": {k: to_plain(self.reading_rate(k)) for k in KINDS},
            "repaired": to_plain(self.repaired_rate()),
            "reports": {name: to_plain(self.mean_report(name)) for name in self.reports},
            "counts": {
                "results": dict(self.results),
                "readings": dict(self.readings),
                "repaired": self.repaired,
                "forfeits": self.forfeits,
                "failures": dict(self.failures),
            },
            **({"usage": usage} if usage else {}),
        }
