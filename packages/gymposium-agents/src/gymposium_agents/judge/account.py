"""The account of a judge: how many groups it rated, and what that cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from gymposium_agents.engines.protocol import ChatCompletion


@dataclass(slots=True)
class Account:
    """Totals over all groups so far. Answers that gave no scores are counted too, because they are paid for."""

    answers: int = 0
    """Number of answers, including those that could not be used."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    """Answers whose tokens the service did not count; the totals and the cost leave them out."""
    cost: float | None = None
    """In the currency of the engine's prices; None without prices."""
    rated: int = 0
    """Number of groups with scores."""
    unrated: Counter[str] = field(default_factory=Counter)
    """Number of groups without scores, by reason."""

    def add(self, completion: ChatCompletion) -> None:
        """Count one more answer."""
        self.answers += 1
        self.uncounted += completion.prompt_tokens is None or completion.completion_tokens is None
        self.prompt_tokens += completion.prompt_tokens or 0
        self.completion_tokens += completion.completion_tokens or 0
        if completion.cost is not None:
            self.cost = (self.cost or 0.0) + completion.cost

    def as_dict(self) -> dict[str, Any]:
        """The account as plain data, the most frequent reason first."""
        return {**asdict(self), "unrated": dict(self.unrated.most_common())}

    def sentences(self) -> list[str]:
        """The account in words: one sentence about the answers, and one for each reason."""
        sentences = []
        if self.answers:
            cost = "" if self.cost is None else f", cost {self.cost:.4f}"
            uncounted = f" ({self.uncounted} answers uncounted)" if self.uncounted else ""
            sentences.append(
                f"The judge rated {self.rated} groups in {self.answers} answers, {self.prompt_tokens} tokens in and "
                f"{self.completion_tokens} out{uncounted}{cost}."
            )
        return [*sentences, *(f"{count} groups were not rated: {why}." for why, count in self.unrated.most_common())]
