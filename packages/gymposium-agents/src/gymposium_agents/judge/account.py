"""What a judge was asked, what it took, and what became of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from gymposium_agents.engines.protocol import ChatCompletion


@dataclass(slots=True)
class Account:
    """Sums over all groups so far."""

    rated: int = 0
    unrated: Counter[str] = field(default_factory=Counter)
    """Groups that have no scores, by why."""
    answers: int = 0
    """Those of the service, whatever was in them; they are paid for."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    """Answers whose tokens the service did not count: sums and cost leave them out."""
    cost: float | None = None
    """In the currency of the engine's prices; None without prices."""

    def add(self, completion: ChatCompletion) -> None:
        """One more answer."""
        self.answers += 1
        if completion.prompt_tokens is None or completion.completion_tokens is None:
            self.uncounted += 1
        self.prompt_tokens += completion.prompt_tokens or 0
        self.completion_tokens += completion.completion_tokens or 0
        if completion.cost is not None:
            self.cost = (self.cost or 0.0) + completion.cost

    def as_dict(self) -> dict[str, Any]:
        """As plain data, the most frequent reason first."""
        return {**asdict(self), "unrated": dict(self.unrated.most_common())}

    def sentences(self) -> list[str]:
        """The same in words, as far as there is something to say."""
        said = []
        if self.answers:
            cost = "" if self.cost is None else f", cost {self.cost:.4f}"
            uncounted = f" ({self.uncounted} answers uncounted)" if self.uncounted else ""
            said.append(
                f"The judge rated {self.rated} groups in {self.answers} answers, {self.prompt_tokens} tokens in and "
                f"{self.completion_tokens} out{uncounted}{cost}."
            )
        return [*said, *(f"{count} groups were not rated: {why}." for why, count in self.unrated.most_common())]
