"""The credit that a run's settings ask for."""

from __future__ import annotations

from gymposium_train.config import Credit as Settings
from gymposium_train.credit.baseline import Baseline
from gymposium_train.credit.episode import Credit
from gymposium_train.credit.gae import Gae
from gymposium_train.credit.gigpo import Gigpo
from gymposium_train.credit.grpo import Grpo
from gymposium_train.credit.rae import Rae
from gymposium_train.credit.rloo import Rloo


def make_credit(settings: Settings) -> Credit:
    """Of the kind and with the numbers of `settings`."""
    match settings.kind:
        case "grpo":
            return Grpo(normalise=settings.normalise)
        case "rloo":
            return Rloo()
        case "baseline":
            return Baseline(normalise=settings.normalise)
        case "rae":
            return Rae(decay=settings.decay)
        case "gae":
            return Gae(gamma=settings.gamma, lam=settings.lam, normalise=settings.normalise)
        case "gigpo":
            return Gigpo(gamma=settings.gamma, weight=settings.step_weight, normalise=settings.normalise)
