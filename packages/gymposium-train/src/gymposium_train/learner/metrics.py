"""The metrics of an update: weighted means over its micro-batches, and maxima."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Metrics:
    """Weighted sums with their weights, and maxima, by name."""

    sums: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, total: float, weight: float = 1.0) -> None:
        """Add a sum of values whose weights add up to `weight`."""
        self.sums[name] = self.sums.get(name, 0.0) + total
        self.weights[name] = self.weights.get(name, 0.0) + weight

    def peak(self, name: str, value: float) -> None:
        """Note a value, and keep the maximum."""
        self.peaks[name] = max(value, self.peaks.get(name, value))

    def take(self, other: Metrics) -> None:
        """Add the metrics of another pass or of another process."""
        for name, total in other.sums.items():
            self.add(name, total, other.weights[name])
        for name, value in other.peaks.items():
            self.peak(name, value)

    def means(self) -> dict[str, float]:
        """Return the mean or maximum for each name. Means with a total weight of 0 are left out."""
        return {name: self.sums[name] / weight for name, weight in self.weights.items() if weight} | self.peaks
