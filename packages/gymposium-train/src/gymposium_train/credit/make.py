"""The credit assignments that plugins offer, and the one that a config chooses."""

from __future__ import annotations

from gymposium.errors import UnknownName
from gymposium.plugins.host import host
from gymposium_train.credit.protocol import Credit, CreditSettings
from gymposium_train.variants import Variants, from_plugins

CREDITS = Variants(CreditSettings, from_plugins(lambda: host().credits, CreditSettings), default="grpo")
"""The table `[credit]` of a config."""


def make_credit(settings: CreditSettings) -> Credit:
    """The credit of these settings. Raises `UnknownName` if its plugin is not loaded."""
    specs = host().credits
    if settings.kind not in specs:
        raise UnknownName("credit", settings.kind, specs)
    credit: Credit = host().implementation(specs[settings.kind])(settings)
    return credit
