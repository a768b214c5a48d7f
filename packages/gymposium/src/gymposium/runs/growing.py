"""Files of lines that somebody else appends to while they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class GrowingLine:
    """One whole line and where it stands."""

    number: int
    """Counted from 1."""
    start: int
    """Bytes before it."""
    text: bytes

    @property
    def stop(self) -> int:
        """Where the next line begins."""
        return self.start + len(self.text)


@dataclass(slots=True)
class Growing:
    """A file that is read on from where it was left. A line counts once it has ended; what stands behind the last line
    break is still being written, or was cut off."""

    path: Path
    offset: int = 0
    """Where it is read on."""
    number: int = 0
    """Lines so far."""
    rest: GrowingLine | None = None
    """What stood behind the last line break when `lines` came to it."""
    _inode: int = 0

    def renewed(self) -> bool:
        """Whether another file stands under the name now, or a shorter one: it is then read from its beginning, and
        what was read before counts no more."""
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            inode = size = 0
        else:
            inode, size = stat.st_ino, stat.st_size
        known, self._inode = self._inode, inode
        if size >= self.offset and known in (0, inode):
            return False
        self.offset, self.number, self.rest = 0, 0, None
        return True

    def lines(self) -> Iterator[GrowingLine]:
        """What was added since the last time, without empty lines; nothing where there is no file."""
        try:
            file = open(self.path, "rb")  # noqa: SIM115  (closed below)
        except FileNotFoundError:
            return
        self.rest = None
        with file:
            file.seek(self.offset)
            for text in file:
                line = GrowingLine(self.number + 1, self.offset, text)
                if not text.endswith(b"\n"):
                    self.rest = line if text.strip() else None
                    return
                self.number, self.offset = line.number, line.stop
                if text.strip():
                    yield line
