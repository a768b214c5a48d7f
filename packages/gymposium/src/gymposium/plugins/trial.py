"""Loads one plugin in a child process, so that no more than the child can end with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.plugins.offers import Offer, offers

SECONDS = 60
"""So long a plugin may take to load. Its child process is killed then."""

_CHILD = "import sys; sys.path[:] = {path!r}; from gymposium.plugins.trial import main; main()"


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a plugin in a process of its own."""

    ending: str = ""
    """How the plugin ended the process, in words; nothing where it did not."""
    error: str = ""
    """Why it is broken, where it is."""
    adds: dict[str, list[str]] = field(default_factory=dict)
    """What it would add, as `gymposium.plugins.host.Plugin.adds`."""


def try_apart(offer: Offer) -> Trial:
    """Load the plugin in a child process, whatever the switches say."""
    with tempfile.TemporaryDirectory(prefix="gymposium-") as folder:
        report = Path(folder) / "report.json"
        code = _CHILD.format(path=sys.path)
        # the module's name tells `import gymposium` there that it is to load nothing
        command = [sys.executable, "-c", code, __name__, str(report), offer.name, offer.source, offer.place]
        none = subprocess.DEVNULL
        try:
            done = subprocess.run(command, stdin=none, stdout=none, stderr=none, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Trial(ending=f"it was not loaded within {SECONDS} seconds")
        except OSError as error:
            return Trial(ending=f"it could not be tried in a process of its own: {error}")
        if not report.is_file():
            return Trial(ending=_in_words(done.returncode))
        told = json.loads(report.read_text(encoding="utf-8"))
    return Trial(error=told["error"], adds=told["adds"])


def _in_words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def main() -> None:
    """What the child process does: it loads the plugin, and writes a report if it gets there."""
    from gymposium.plugins.host import Host

    report, name, source, place = sys.argv[-4:]
    for offer in offers():
        if (offer.name, offer.source, offer.place) == (name, source, place):
            plugin = Host(autoload=False, strict=False).load_offer(offer)
            told = {"error": plugin.error, "adds": plugin.adds()}
            staged = Path(f"{report}.part")
            staged.write_text(json.dumps(told), encoding="utf-8")
            staged.rename(report)
            os._exit(0)  # whatever threads it has left
    sys.exit(f"{name} is not installed any more")
