"""A child process whose end can be waited for by others than its parent."""

from __future__ import annotations

import os
import select
from pathlib import Path

PATIENCE = 60.0
"""Number of seconds after which a child counts as left behind. A killed one needs a moment on a busy machine."""
START = """
import os, subprocess
held = os.open({path!r}, os.O_WRONLY)
subprocess.Popen(["sleep", "1000"], pass_fds=[held])
os.close(held)
"""


class ChildPipe:
    """A named pipe whose write end only the child holds, so that its end of file is the end of the child."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._read = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.start = START.format(path=str(path))
        """Python code that starts the child."""

    def child_ends(self) -> bool:
        """Wait for the end of the child. Return whether it came in time."""
        readable, _, _ = select.select([self._read], [], [], PATIENCE)
        return bool(readable) and os.read(self._read, 1) == b""

    def close(self) -> None:
        os.close(self._read)
