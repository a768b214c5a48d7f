"""No credit: rewards do not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gymposium_train.credit.protocol import Credit, CreditSettings, Episode, assign_advantages


class OffSettings(CreditSettings):
    """Rewards do not count, so only the teacher's term teaches: distillation alone."""

    kind: Literal["off"] = "off"
    """Which credit assignment is used."""


@dataclass(frozen=True, slots=True)
class Off(Credit):
    """The advantage of every turn is 0, whatever its reward."""

    settings: OffSettings

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> Sequence[Sequence[Episode]]:
        return [assign_advantages(group, [(0.0,) * len(one.rewards) for one in group]) for group in groups]
