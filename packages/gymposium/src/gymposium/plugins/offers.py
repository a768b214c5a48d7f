"""Plugins offered by installed distributions, read from their metadata without importing anything.

A distribution with unreadable metadata is listed as a broken plugin and does not affect others."""

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
    """A plugin offered by a distribution through an entry point in the group `gymposium`."""

    name: str
    """Name of the entry point, or of the distribution if its entry points cannot be read."""
    source: str
    """The module or object that the entry point names."""
    place: str
    """Directory with the distribution's metadata."""
    distribution: str
    """Name of the distribution from its metadata, or from `place` if the metadata cannot be read."""
    version: str = ""
    error: str = ""
    """Metadata error that prevents loading the plugin, or ""."""
    entry_point: EntryPoint | None = None

    @property
    def names(self) -> set[str]:
        """Names that switches may use for this plugin."""
        return {normalize_name(self.name), normalize_name(self.distribution)}


def list_offers() -> list[Offer]:
    """Return all offers, sorted by name. If a distribution is installed twice, the first one on the path counts."""
    names: set[str] = set()
    offered: list[Offer] = []
    for distribution in distributions():
        # `importlib.metadata.entry_points()` parses the entry points of every distribution, which would make every
        # `import gymposium` half as long again
        text, error = _read_entry_points(distribution)
        if not error and f"[{PROJECT}]" not in text:
            continue
        name, version, unreadable = _read_metadata(distribution)
        if normalize_name(name) not in names:
            names.add(normalize_name(name))
            offered += _parse_entry_points(distribution, name, version, error or unreadable)
    return sorted(offered, key=lambda offer: (offer.name, offer.source))


def normalize_name(name: str) -> str:
    """Normalize a name as pip does: `gymposium_2048` is `gymposium-2048`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read_entry_points(distribution: Distribution) -> tuple[str, str]:
    """Return the text of a distribution's entry points.

    If it is unreadable and may contain a plugin, also return the reason."""
    try:
        return distribution.read_text(_FILE) or "", ""
    except UnicodeDecodeError as error:
        # true for every encoding of ASCII letters, even with two or four bytes per letter
        ours = PROJECT.encode() in error.object.replace(b"\0", b"")
        return "", f"its {_FILE} is not UTF-8" if ours else ""


def _read_metadata(distribution: Distribution) -> tuple[str, str, str]:
    """Return a distribution's name and version, and the reason if its metadata cannot be used."""
    by_folder = Path(_find_place(distribution)).name.partition("-")[0] or "unknown"
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


def _parse_entry_points(distribution: Distribution, name: str, version: str, unreadable: str) -> Iterator[Offer]:
    place = _find_place(distribution)
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


def _find_place(distribution: Distribution) -> str:
    """Return the directory of a distribution's metadata, if any.

    `importlib.metadata` has no public attribute for it."""
    return str(distribution._path) if isinstance(distribution, PathDistribution) else str(distribution.locate_file(""))
