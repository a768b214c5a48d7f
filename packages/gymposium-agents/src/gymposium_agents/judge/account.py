"""The account of a judge: the number of rated groups, and their cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from gymposium.util.visible import quantity
from gymposium_agents.engines.protocol import ChatCompletion


@dataclass(slots=True)
class Account:
    """Totals over all groups so far. Answers without scores count too, because they are paid for."""

    answers: int = 0
    """Number of answers, including unusable ones."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    """Answers without token counts from the service. The totals and the cost exclude them."""
    cost: float | None = None
    """The cost in the currency of the engine's prices, or None without prices."""
    rated: int = 0
    """Number of groups with scores."""
    unrated: Counter[str] = field(default_factory=Counter)
    """Number of groups without scores, by reason."""

    def add(self, completion: ChatCompletion) -> None:
        """Count another answer."""
        self.answers += 1
        self.uncounted += completion.prompt_tokens is None or completion.completion_tokens is None
        self.prompt_tokens += completion.prompt_tokens or 0
        self.completion_tokens += completion.completion_tokens or 0
        if completion.cost is not None:
            self.cost = (self.cost or 0.0) + completion.cost

    def as_dict(self) -> dict[str, Any]:
        """Return the account as plain data, with the most frequent reason first."""
        return {**asdict(self), "unrated": dict(self.unrated.most_common())}

    def sentences(self) -> list[str]:
        """Describe the account: one sentence about the answers, and one per reason."""
        sentences = []
        if self.answers:
            cost = "" if self.cost is None else f", cost {self.cost:.4f}"
            uncounted = f" ({quantity(self.uncounted, 'answer')} uncounted)" if self.uncounted else ""
            sentences.append(
                f"The judge rated {quantity(self.rated, 'group')} in {quantity(self.answers, 'answer')}, "
                f"{quantity(self.prompt_tokens, 'token')} in and "
                f"{self.completion_tokens} out{uncounted}{cost}."
            )
        return [
            *sentences,
            *(
                f"{quantity(count, 'group was', 'groups were')} not rated: {why}."
                for why, count in self.unrated.most_common()
            ),
        ]
