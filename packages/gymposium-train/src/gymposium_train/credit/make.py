"""Credit assignments from plugins, and the credit chosen by a config."""

from __future__ import annotations

from gymposium.plugins.host import host
from gymposium_train.credit.protocol import Credit, CreditSettings
from gymposium_train.util.variants import Variants, make_kind_finder, make_variant

CREDITS = Variants("credit", CreditSettings, make_kind_finder(lambda: host().credits, CreditSettings), default="gae")
"""The table `[credit]` of a config."""


def make_credit(settings: CreditSettings) -> Credit:
    """Make the credit of these settings. Raises `UnknownName` if its plugin is not loaded."""
    credit: Credit = make_variant("credit", host().credits, settings.kind, settings)
    return credit
