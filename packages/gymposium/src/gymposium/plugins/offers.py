"""What the installed distributions offer as plugins, by their metadata alone: nothing is imported.

Metadata that cannot be read makes a broken plugin of its own distribution, and of no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, PathDistribution, distributions
from pathlib import Path

from gymposium.plugins.hookspecs import PROJECT

_FILE = "entry_points.txt"


@dataclass(frozen=True, slots=True)
class Offer:
    """A plugin that a distribution offers by an entry point of our group."""

    name: str
    """The entry point's, or the distribution's where its entry points cannot be read."""
    source: str
    """What the entry point names: a module, or an object in one."""
    place: str
    """The distribution's directory of metadata."""
    distribution: str
    """As the metadata names it, or the name of `place` where it cannot be read."""
    version: str = ""
    error: str = ""
    """Why it cannot be loaded, where the metadata already says so."""
    entry_point: EntryPoint | None = None

    @property
    def names(self) -> set[str]:
        """What it goes by in the switches."""
        return {canonical(self.name), canonical(self.distribution)}


def offers() -> list[Offer]:
    """All that is offered, by name; of a distribution that is there twice, what comes first on the path."""
    seen: set[str] = set()
    found: list[Offer] = []
    for distribution in distributions():
        # `importlib.metadata.entry_points()` parses what every distribution has to offer, at half as much time again,
        # and every `import gymposium` would spend it.
        text, error = _entry_points_of(distribution)
        if not error and f"[{PROJECT}]" not in text:
            continue
        name, version, unreadable = _about(distribution)
        if canonical(name) not in seen:
            seen.add(canonical(name))
            found += _offered(distribution, name, version, error or unreadable)
    return sorted(found, key=lambda offer: (offer.name, offer.source))


def canonical(name: str) -> str:
    """Distribution names compare as pip compares them: `gymposium_2048` is `gymposium-2048`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _entry_points_of(distribution: Distribution) -> tuple[str, str]:
    """The text of its entry points, or why it cannot be read, where it may hold one of ours."""
    try:
        return distribution.read_text(_FILE) or "", ""
    except UnicodeDecodeError as error:
        # in any encoding that has ASCII's letters, two bytes or four to each included
        ours = PROJECT.encode() in error.object.replace(b"\0", b"")
        return "", f"its {_FILE} is not UTF-8" if ours else ""


def _about(distribution: Distribution) -> tuple[str, str, str]:
    """Its name and version, and why its metadata cannot be used."""
    folder = _place(distribution)
    by_folder = Path(folder).name.partition("-")[0] or "unknown"
    try:
        about = distribution.metadata
        given = {field: about[field] for field in ("Name", "Version") if field in about}
    except UnicodeDecodeError:
        return by_folder, "", "its METADATA is not UTF-8"
    except Exception as error:  # noqa: BLE001 (the standard library raises several kinds, by its version)
        return by_folder, "", f"its METADATA cannot be read ({type(error).__name__}: {error})"
    name, version = given.get("Name", ""), given.get("Version", "")
    if not name or not version:
        return name or by_folder, version, f"its METADATA has no {'Version' if name else 'Name'}"
    return name, version, ""


def _offered(distribution: Distribution, name: str, version: str, unreadable: str) -> Iterator[Offer]:
    place = _place(distribution)
    try:
        points = list(distribution.entry_points.select(group=PROJECT))
    except Exception as error:  # noqa: BLE001 (the standard library raises several kinds, by its version)
        reason = unreadable or f"its {_FILE} is not well formed ({type(error).__name__}: {error})"
        yield Offer(name, place, place, name, version, reason)
        return
    for point in points:
        reason = unreadable
        if not reason and EntryPoint.pattern.match(point.value) is None:
            reason = f"its entry point names {point.value!r}, which is neither a module nor an object in one"
        yield Offer(point.name, point.value, place, name, version, reason, point)


def _place(distribution: Distribution) -> str:
    """The directory of its metadata, where it has one."""
    # there is no public way to ask
    return str(distribution._path) if isinstance(distribution, PathDistribution) else str(distribution.locate_file(""))
