"""Detection of plugins that ended an earlier process while they were loaded, by `os._exit`, a segmentation fault or a
signal.

Each process has a marker, a locked file in the user's cache directory. It writes there which plugin it is about to
load, and removes the file when all plugins are loaded. The operating system releases the lock when the process ends, so
an unlocked marker belongs to a process that ended while it loaded the plugin named there. The user may have killed that
process, so the next process first tries the plugin in a child process. If the child process ends too, the plugin is
left out, and a verdict is written, which holds until the plugin changes or loads in
`gymposium plugins list --isolated`.

If the cache directory cannot be written, or files cannot be locked, crashes are not detected."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.plugins.offers import Offer

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_MARKER, _VERDICT = "loading-", "ended-"
_AN_HOUR = 3_600_000_000_000
_CODE = {".py", ".so", ".pyd", ".dylib", ".dll"}
_Key = tuple[str, str, str]
"""Name, source and place of an offer, which identify a plugin of one Python environment."""


@dataclass(frozen=True, slots=True)
class _Note:
    """The content of a marker or a verdict."""

    key: _Key
    version: str
    reason: str
    """How the plugin ended a child process; empty in a marker."""
    file: Path
    when: int
    """Time at which the plugin ended a process, in nanoseconds since 1970."""


@dataclass(slots=True)
class Crashes:
    """The marker of this process, and the notes that earlier ones left. It is a context manager; leaving the context
    means that all plugins are loaded."""

    directory: Path | None = field(default_factory=lambda: _cache_directory())
    _left: dict[_Key, list[_Note]] = field(default_factory=dict)
    _marker: Path | None = None
    _file: int = -1

    def __enter__(self) -> Crashes:
        if self.directory is not None and fcntl is not None:
            self._left = _left_behind(self.directory)
        return self

    def __exit__(self, *error: object) -> None:
        if self._marker is not None:
            os.ftruncate(self._file, 0)  # in case another process reads it before it is removed
            self._marker.unlink(missing_ok=True)
            os.close(self._file)
            self._marker = None

    def reason(self, offer: Offer) -> tuple[str, str]:
        """Why the plugin must be left out, and a remark about it; either may be empty."""
        notes = self._left.get(_key(offer), [])
        if not notes or any(_has_changed(offer, note) for note in notes):
            self.forget(offer)
            return "", ""
        verdict = next((note for note in notes if note.reason), None)
        if verdict is not None:
            return _in_words(verdict.reason), ""
        from gymposium.plugins.trial import try_apart  # rarely needed

        if ending := try_apart(offer).ending:
            return self.judge(offer, ending), ""
        self.forget(offer)
        return "", (
            f"An earlier process ended while it loaded the plugin {offer.name!r}. A child process has loaded it "
            f"now, so it is loaded. If this process ends too, leave it out: GYMPOSIUM_DISABLE_PLUGINS={offer.name}"
        )

    def note(self, offer: Offer) -> None:
        """Note that the plugin is about to be loaded."""
        if self.directory is None or fcntl is None:
            return
        if self._marker is None:
            try:
                self.directory.mkdir(parents=True, exist_ok=True)
                marker = self.directory / f"{_MARKER}{os.getpid()}-{os.urandom(4).hex()}"
                self._file = os.open(marker, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                fcntl.flock(self._file, fcntl.LOCK_EX)  # a process that reads it while it is empty unlocks it at once
            except OSError:
                self.directory = None
                return
            self._marker = marker
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, _note_text(offer).encode(), 0)

    def judge(self, offer: Offer, ending: str) -> str:
        """Write a verdict that the plugin ended a process, and return it in words. `ending` says how."""
        self.forget(offer)
        if self.directory is not None:
            with suppress(OSError):
                self.directory.mkdir(parents=True, exist_ok=True)
                verdict = self.directory / f"{_VERDICT}{os.urandom(8).hex()}"
                verdict.write_text(_note_text(offer, ending), encoding="utf-8")
        return _in_words(ending)

    def forget(self, offer: Offer) -> None:
        """Remove the notes of earlier processes about the plugin."""
        for note in self._left.pop(_key(offer), []):
            note.file.unlink(missing_ok=True)


def _cache_directory() -> Path | None:
    """gymposium/plugins in the user's cache directory ($XDG_CACHE_HOME, ~/.cache); None without a home directory."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gymposium" / "plugins"
    except RuntimeError:
        return None


def _in_words(ending: str) -> str:
    return (
        f"it ended the process that loaded it ({ending}), and is not loaded until it changes. To try it again:  "
        f"gymposium plugins list --isolated"
    )


def _key(offer: Offer) -> _Key:
    return offer.name, offer.source, offer.place


def _note_text(offer: Offer, ending: str = "") -> str:
    return repr((*_key(offer), offer.version, ending))


def _left_behind(directory: Path) -> dict[_Key, list[_Note]]:
    """The verdicts, and the markers that no process holds."""
    notes: dict[_Key, list[_Note]] = {}
    files: list[Path] = []
    with suppress(OSError):  # there is no such directory, or it cannot be read
        files += directory.iterdir()
    for file in files:
        if file.name.startswith((_MARKER, _VERDICT)) and (note := _read(file)):
            notes.setdefault(note.key, []).append(note)
    return notes


def _read(file: Path) -> _Note | None:
    """The note in a file; None if a running process holds the file, or it is empty."""
    import ast  # rarely needed

    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return None  # removed meanwhile
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, so that two readers do not exclude each other
        when = os.fstat(descriptor).st_mtime_ns
        text = os.pread(descriptor, 65_536, 0).decode()
        if not text and time.time_ns() - when > _AN_HOUR:  # its process ended before it wrote anything
            file.unlink(missing_ok=True)
        name, source, place, version, reason = ast.literal_eval(text)
    except OSError:
        return None  # held
    except (ValueError, SyntaxError, TypeError):
        return None  # empty, or incomplete after a power failure
    finally:
        os.close(descriptor)
    return _Note((name, source, place), version, reason, file, when)


def _has_changed(offer: Offer, note: _Note) -> bool:
    """True if the plugin has another version, or code or metadata that is newer than the end of that process."""
    if offer.version != note.version:
        return True
    for file in (Path(offer.place), *_code_of(offer.source)):
        with suppress(OSError):
            if file.stat().st_mtime_ns > note.when:
                return True
    return False


def _code_of(source: str) -> list[Path]:
    """The files of the package or module that an entry point names first."""
    import importlib.util

    try:
        spec = importlib.util.find_spec(source.partition(":")[0].partition(".")[0])
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is None:
        return [Path(spec.origin)] if spec.origin else []
    folders = spec.submodule_search_locations
    return [file for folder in folders for file in Path(folder).rglob("*") if file.suffix in _CODE]
