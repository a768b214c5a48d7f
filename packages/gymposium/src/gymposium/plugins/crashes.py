"""Finds the plugin that ended an earlier process while it was loaded: by `os._exit`, a segmentation fault, a signal.

A process notes in a marker, a locked file of its own in the user's cache directory, which plugin it is about to load,
and removes the file when all are loaded. The lock goes with the process, however that ends: a marker that nobody holds
is of a process that ended while it loaded the plugin named in it. Somebody may have killed it, so the next process
tries the plugin in a child process first. Only where that ends as well is the plugin left out, and a verdict is written
that holds until the plugin changes or loads in `gymposium plugins list --isolated`.

Where the cache directory cannot be written, or files cannot be locked, nothing is noted and nothing found."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from gymposium.plugins.offers import Offer

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_MARKER, _VERDICT = "loading-", "ended-"
_AN_HOUR = 3_600_000_000_000
_CODE = {".py", ".so", ".pyd", ".dylib", ".dll"}
_AGAIN = "To try it again:  gymposium plugins list --isolated"


@dataclass(frozen=True, slots=True)
class _Note:
    """What a marker or a verdict says."""

    key: tuple[str, str, str]
    version: str
    reason: str
    file: Path
    when: int
    """When the plugin ended a process, in nanoseconds since 1970."""


@dataclass(slots=True)
class Crashes:
    """What this process notes while it loads plugins, and what others left. A context: on leaving it all are loaded."""

    directory: Path | None = field(default_factory=lambda: _cache_directory())
    _left: dict[tuple[str, str, str], list[_Note]] = field(default_factory=dict)
    _marker: Path | None = None
    _file: int = -1

    def __enter__(self) -> Crashes:
        if self.directory is not None and fcntl is not None:
            self._left = _left_behind(self.directory)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._marker is not None:
            os.ftruncate(self._file, 0)  # for whoever looks at it between the next two lines
            self._marker.unlink(missing_ok=True)
            os.close(self._file)
            self._marker = None

    def reason(self, offer: Offer) -> tuple[str, str]:
        """Why the plugin is to be left out, and what else to tell of it; either may be nothing."""
        notes = self._left.get(_key(offer), [])
        if not notes:
            return "", ""
        if any(_has_changed(offer, note) for note in notes):
            self.forget(offer)
            return "", ""
        verdict = next((note for note in notes if note.reason), None)
        if verdict is not None:
            return _in_words(verdict.reason), ""
        from gymposium.plugins.trial import try_apart  # hardly ever needed

        ending = try_apart(offer).ending
        if not ending:
            self.forget(offer)
            return "", (
                f"An earlier process ended while it loaded the plugin {offer.name!r}. A child process has loaded it "
                f"now, so it is loaded. If this process ends too, leave it out: GYMPOSIUM_DISABLE_PLUGINS={offer.name}"
            )
        return self.judge(offer, ending), ""

    def note(self, offer: Offer) -> None:
        """The plugin is about to be loaded."""
        if self.directory is None or fcntl is None:
            return
        if self._marker is None:
            try:
                self.directory.mkdir(parents=True, exist_ok=True)
                marker = self.directory / f"{_MARKER}{os.getpid()}-{os.urandom(4).hex()}"
                self._file = os.open(marker, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                fcntl.flock(self._file, fcntl.LOCK_EX)  # it is empty: whoever looks at it lets go at once
            except OSError:
                self.directory = None
                return
            self._marker = marker
        text = repr((*_key(offer), offer.version, "")).encode()
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, text, 0)

    def judge(self, offer: Offer, ending: str) -> str:
        """Write down that the plugin ended a process, and how. The same in words."""
        self.forget(offer)
        if self.directory is not None:
            with suppress(OSError):
                self.directory.mkdir(parents=True, exist_ok=True)
                text = repr((*_key(offer), offer.version, ending))
                (self.directory / f"{_VERDICT}{os.urandom(8).hex()}").write_text(text, encoding="utf-8")
        return _in_words(ending)

    def forget(self, offer: Offer) -> None:
        """Remove what earlier processes left of it."""
        for note in self._left.pop(_key(offer), []):
            note.file.unlink(missing_ok=True)


def _cache_directory() -> Path | None:
    """gymposium/plugins in the user's cache directory ($XDG_CACHE_HOME, ~/.cache); None where there is no home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gymposium" / "plugins"
    except RuntimeError:
        return None


def _in_words(ending: str) -> str:
    return f"it ended the process that loaded it ({ending}), and is not loaded until it changes. {_AGAIN}"


def _key(offer: Offer) -> tuple[str, str, str]:
    """A plugin of this environment: `place` is a directory in it."""
    return offer.name, offer.source, offer.place


def _left_behind(directory: Path) -> dict[tuple[str, str, str], list[_Note]]:
    """Markers that nobody holds, and verdicts."""
    found: dict[tuple[str, str, str], list[_Note]] = {}
    try:
        files = list(directory.iterdir())
    except OSError:
        return found
    for file in files:
        if file.name.startswith((_MARKER, _VERDICT)):
            note = _read(file)
            if note is not None:
                found.setdefault(note.key, []).append(note)
    return found


def _read(file: Path) -> _Note | None:
    """What it says. None where a living process holds it, or it says nothing."""
    import ast  # hardly ever is anything left behind

    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return None  # removed in the meantime
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two that look do not take each other for it
        when = os.fstat(descriptor).st_mtime_ns
        text = os.pread(descriptor, 65_536, 0).decode()
        if not text and time.time_ns() - when > _AN_HOUR:  # its process ended before it wrote anything
            file.unlink(missing_ok=True)
        name, source, place, version, reason = ast.literal_eval(text)
    except OSError:
        return None  # held
    except (ValueError, SyntaxError, TypeError):
        return None  # empty, or cut off by the end of the machine
    finally:
        os.close(descriptor)
    return _Note((name, source, place), version, reason, file, when)


def _has_changed(offer: Offer, note: _Note) -> bool:
    """Another version, or code or metadata that is newer than the end of that process."""
    if offer.version != note.version:
        return True
    files = [Path(offer.place), *_code_of(offer.source)]
    return any(_modified(file) > note.when for file in files)


def _code_of(source: str) -> list[Path]:
    """The files of the package, or of the one module, that is named first in an entry point."""
    import importlib.util

    try:
        spec = importlib.util.find_spec(source.partition(":")[0].partition(".")[0])
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is None:
        return [Path(spec.origin)] if spec.origin else []
    folders = [Path(folder) for folder in spec.submodule_search_locations]
    return [file for folder in folders for file in folder.rglob("*") if file.suffix in _CODE]


def _modified(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
