"""Runs what a plugin brings, so that no more is lost than the plugin: whatever it raises comes back, Ctrl-C stops the
process whatever the plugin makes of it, and stdout belongs to the process's results."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from types import FrameType
from typing import IO, Any

from gymposium.errors import PluginError

_SHOWN = 60
"""Characters of what a plugin wrote that its error repeats."""


def contained(action: Callable[[], None], *, guard_stdout: bool) -> BaseException | None:
    """What `action` raised, a `PluginError` where it wrote to stdout or closed an output, or None.

    Raises `KeyboardInterrupt` where the user pressed Ctrl-C in the meantime."""
    failed: BaseException | None = None
    # Other threads may print, and where an output is closed there is none to keep.
    guarded = guard_stdout and threading.active_count() == 1 and _is_open(1) and _is_open(2)
    outputs = _Outputs() if guarded else None
    with _ctrl_c() as ctrl_c:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 (CancelledError, GeneratorExit, one of the plugin's own)
            failed = error
    offence = "" if outputs is None else outputs.restore()
    if ctrl_c.pressed:
        raise KeyboardInterrupt
    return PluginError(offence) if failed is None and offence else failed


class _CtrlC:
    """Tells the user's Ctrl-C from a `KeyboardInterrupt` that somebody raised."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any] | None) -> None:
        self._handler = handler
        self.pressed = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        assert self._handler is not None
        try:
            self._handler(number, frame)
        except KeyboardInterrupt:
            self.pressed = True
            raise


@contextmanager
def _ctrl_c() -> Iterator[_CtrlC]:
    """Watches for it. Only the main thread is told of signals; elsewhere it is never pressed."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield _CtrlC(None)
        return
    watch = _CtrlC(handler)
    signal.signal(signal.SIGINT, watch)
    try:
        yield watch
    finally:
        signal.signal(signal.SIGINT, handler)


class _Outputs:
    """The process's stdout and stderr. From the making of one until `restore`, what is written to stdout, by C code and
    child processes too, goes to a file."""

    def __init__(self) -> None:
        self._out, self._err = sys.stdout, sys.stderr
        for stream in (self._out, self._err):
            if stream is not None:
                stream.flush()
        self._kept = {number: os.dup(number) for number in (1, 2)}
        self._file = _nameless_file()
        os.dup2(self._file, 1)

    def restore(self) -> str:
        """Both as they were. What was done to them, in words, or nothing; what was written is on stderr."""
        offences = [self._restore_stream("stdout", self._out), self._restore_stream("stderr", self._err)]
        if not _same(1, self._file):
            offences.append("it closed or redirected file descriptor 1, which is stdout")
        if not _same(2, self._kept[2]):
            offences.append("it closed or redirected file descriptor 2, which is stderr")
        for number, kept in self._kept.items():
            os.dup2(kept, number)
            os.close(kept)
        written = _all_of(self._file)
        os.close(self._file)
        if written:
            os.write(2, written if written.endswith(b"\n") else written + b"\n")
            said = written.decode(errors="backslashreplace").strip()
            said = said[:_SHOWN] + ("…" if len(said) > _SHOWN else "")
            offences.append(f"it wrote {said!r} to stdout, which is for results (its output went to stderr)")
        return "; ".join(filter(None, offences))

    def _restore_stream(self, name: str, before: IO[str] | None) -> str:
        now = getattr(sys, name, None)
        if before is None:
            return ""
        if before.closed:
            # as Python made it, but that this one is not closed with the old one
            number = 1 if name == "stdout" else 2
            encoding, errors = getattr(before, "encoding", "utf-8"), getattr(before, "errors", "strict")
            lines = bool(getattr(before, "line_buffering", False))
            binary = open(number, "wb", closefd=False)  # noqa: SIM115 (for the rest of the process)
            fresh = TextIOWrapper(binary, encoding=encoding, errors=errors, line_buffering=lines)
            setattr(sys, name, fresh)
            if getattr(sys, f"__{name}__") is before:
                setattr(sys, f"__{name}__", fresh)
            return f"it closed sys.{name}"
        with suppress(OSError):  # the plugin may have closed what is behind it
            before.flush()
        if now is before:
            return ""
        setattr(sys, name, before)
        return f"it replaced sys.{name}"


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _same(number: int, other: int) -> bool:
    """Whether two descriptors are of one file."""
    try:
        return os.path.sameopenfile(number, other)
    except OSError:
        return False


def _nameless_file() -> int:
    """A descriptor of a new file that no directory knows, and no child process inherits."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gymposium")
    import tempfile  # slow to import, and not needed on Linux

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _all_of(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    with open(file, "rb", closefd=False) as reader:
        return reader.read()
