"""Readers for line-based files that another process may append to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from gymposium.errors import BadRecord, describe_cause
from gymposium.records import Problem
from gymposium.records.files import MOST_EMPTY
from gymposium.util.plain_file import MOST_BYTES, is_compressed, open_content


@dataclass(frozen=True, slots=True)
class GrowingLine:
    """A complete line in a file, with its position."""

    number: int
    """Line number, counted from 1."""
    start: int
    """Byte offset of the line's first byte."""
    text: bytes

    @property
    def stop(self) -> int:
        """Byte offset of the line after it."""
        return self.start + len(self.text)


@dataclass(slots=True)
class GrowingFile:
    """A growing file. Each call of `lines` reads the lines added since the last call.

    Text after the last newline is not a line yet. A compressed file is read once, and again after it is replaced."""

    path: Path
    offset: int = 0
    """Byte offset where reading continues. In a compressed file, it refers to the decompressed content."""
    number: int = 0
    """Number of lines read so far."""
    rest: GrowingLine | None = None
    """Text after the last newline, as of the last call of `lines`."""
    _known: tuple[int, ...] = (0,)
    """Identity of the file, to detect a replacement; zeros if there was no file."""
    _ended: bool = False
    """True if a compressed file has been read to its end."""

    def check_replaced(self) -> bool:
        """Check whether the file was replaced or truncated.

        If so, reading restarts, and lines read earlier are invalid."""
        packed = is_compressed(self.path)
        try:
            stat = self.path.stat()
        except OSError:  # none, or a link that leads nowhere: `lines` tells them apart
            size = 0
            now: tuple[int, ...] = (0,)
        else:
            size = stat.st_size
            now = (stat.st_ino, size, stat.st_mtime_ns) if packed else (stat.st_ino,)
        known, self._known = self._known, now
        if (packed or size >= self.offset) and (known == now or not any(known)):
            return False
        self.offset, self.number, self.rest, self._ended = 0, 0, None, False
        return True

    def get_mtime(self) -> float:
        """Return the file's modification time in seconds, or 0 for a missing file."""
        try:
            return self.path.stat().st_mtime
        except OSError:
            return 0.0

    def lines(self) -> Iterator[GrowingLine]:
        """Yield the nonempty lines added since the last call.

        A missing file has no lines. Raises `BadRecord` for an unreadable file."""
        if self._ended:
            return
        try:
            with open_content(self.path) as file:
                self.rest = None
                empty = 0
                file.seek(self.offset)
                while text := file.readline(MOST_BYTES + 1):
                    if len(text) > MOST_BYTES:
                        raise BadRecord(f"line {self.number + 1} is larger than {MOST_BYTES:,} bytes; remove it")
                    line = GrowingLine(self.number + 1, self.offset, text)
                    if not text.endswith(b"\n"):
                        self.rest = line if text.strip() else None
                        break
                    self.number, self.offset = line.number, line.stop
                    if text.strip():
                        yield line
                    else:
                        empty += 1
                        if empty == MOST_EMPTY:
                            raise BadRecord(
                                f"it has {MOST_EMPTY:,} empty lines before line {self.number + 1}; remove them"
                            )
        except FileNotFoundError:
            return
        except OSError as error:
            raise BadRecord(f"it cannot be read after line {self.number} ({describe_cause(error)})") from error
        self._ended = is_compressed(self.path)


@dataclass(slots=True)
class GrowingIndex(ABC):
    """Base class of thread-safe indexes over a growing file's lines."""

    path: Path
    problems: list[Problem] = field(default_factory=list)
    """Problems with lines that could not be read."""
    _lock: Lock = field(default_factory=Lock)
    _file: GrowingFile = field(init=False)
    _is_stuck: bool = False
    """True if the rest of the file cannot be read, now or later."""

    def __post_init__(self) -> None:
        self._file = GrowingFile(self.path)

    def refresh(self) -> None:
        """Read the lines added since the last call."""
        with self._lock:
            if self._file.check_replaced():
                self.problems, self._is_stuck = [], False
                self._clear()
            if self._is_stuck:
                return
            self.problems = [problem for problem in self.problems if problem.where != self.path.name]
            try:
                for line in self._file.lines():
                    try:
                        self._add(line)
                    except BadRecord as error:
                        self.problems.append(Problem(f"{self.path.name}:{line.number}", str(error)))
            except BadRecord as error:  # the rest of the file cannot be read
                self.problems.append(Problem(self.path.name, str(error)))
                self._is_stuck = not isinstance(error.__cause__, OSError)

    @abstractmethod
    def _clear(self) -> None:
        """Remove all lines from the index."""

    @abstractmethod
    def _add(self, line: GrowingLine) -> None:
        """Add a line to the index. Raises `BadRecord` with the problem."""
