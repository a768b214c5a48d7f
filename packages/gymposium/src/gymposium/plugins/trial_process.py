"""The child process of a trial: it loads one plugin and writes a report (`gymposium.plugins.trial`)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from gymposium.plugins.host import Host
from gymposium.plugins.offers import list_offers
from gymposium.plugins.plugin import Plugin


def main() -> None:
    """Load the plugin named by the last command-line arguments, and write what it adds to the report."""
    report, name, source, place = sys.argv[-4:]
    plugin = _load_plugin(name, source, place)
    staged = Path(f"{report}.part")
    staged.write_text(json.dumps({"error": plugin.error, "adds": plugin.adds()}), encoding="utf-8")
    staged.rename(report)
    os._exit(0)  # without waiting for the plugin's threads


def _load_plugin(name: str, source: str, place: str) -> Plugin:
    """Load the plugin from the distribution in `place`, or from the file `source` if `place` is empty."""
    host = Host(autoload=False, strict=False)
    if not place:
        return host.load_chosen_file(Path(source))
    for offer in list_offers():
        if (offer.name, offer.source, offer.place) == (name, source, place):
            return host.load_offer(offer)
    sys.exit(f"{name} is not installed any more")
