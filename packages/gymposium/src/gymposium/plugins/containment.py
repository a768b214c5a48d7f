"""Containment of plugin code, so its faults affect only the plugin.

Every exception is returned. Ctrl-C stops the process even if the plugin catches `KeyboardInterrupt`. The plugin cannot
write to stdout, which is reserved for results."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from types import FrameType
from typing import IO, Any

from gymposium.errors import PluginError

_SHOWN = 60
"""Number of characters of a plugin's output shown in its error."""


def run_contained(action: Callable[[], None], *, guard_stdout: bool) -> BaseException | None:
    """Call `action` and return its exception, or None.

    The result is a `PluginError` if the action wrote to stdout or closed an output.

    Raises `KeyboardInterrupt` if the user presses Ctrl-C during the call."""
    failed: BaseException | None = None
    # not if another thread may print, or an output is already closed
    guarded = guard_stdout and threading.active_count() == 1 and _is_open(1) and _is_open(2)
    outputs = _Outputs() if guarded else None
    with _watch_ctrl_c() as ctrl_c:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 (CancelledError, GeneratorExit, one of the plugin's own)
            failed = error
    offence = "" if outputs is None else outputs.restore()
    if ctrl_c.pressed:
        raise KeyboardInterrupt
    return PluginError(offence) if failed is None and offence else failed


@dataclass
class _CtrlC:
    """A signal handler that records Ctrl-C, to distinguish it from a `KeyboardInterrupt` that the plugin raises."""

    handler: Callable[[int, FrameType | None], Any]
    pressed: bool = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        try:
            self.handler(number, frame)
        except KeyboardInterrupt:
            self.pressed = True
            raise


@contextmanager
def _watch_ctrl_c() -> Iterator[_CtrlC]:
    """Install the handler in the main thread. Other threads install nothing, because they receive no signals."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield _CtrlC(signal.default_int_handler)
        return
    watch = _CtrlC(handler)
    signal.signal(signal.SIGINT, watch)
    try:
        yield watch
    finally:
        signal.signal(signal.SIGINT, handler)


class _Outputs:
    """The process's stdout and stderr. From creation until `restore`, stdout is redirected to a file.

    This covers output from C code and child processes too."""

    def __init__(self) -> None:
        self._out, self._err = sys.stdout, sys.stderr
        for stream in (self._out, self._err):
            if stream is not None:
                stream.flush()
        self._kept = {number: os.dup(number) for number in (1, 2)}
        self._file = _open_nameless_file()
        os.dup2(self._file, 1)

    def restore(self) -> str:
        """Restore both streams, and copy the redirected stdout to stderr.

        Returns a description of what the plugin did to the streams, or ""."""
        offences = [self._restore_stream(1, "stdout", self._out), self._restore_stream(2, "stderr", self._err)]
        for number, name, expected in ((1, "stdout", self._file), (2, "stderr", self._kept[2])):
            if not _is_same_file(number, expected):
                offences.append(f"it closed or redirected file descriptor {number}, which is {name}")
        for number, kept in self._kept.items():
            os.dup2(kept, number)
            os.close(kept)
        os.lseek(self._file, 0, os.SEEK_SET)
        with open(self._file, "rb") as file:
            written = file.read()
        if written:
            os.write(2, written if written.endswith(b"\n") else written + b"\n")
            text = written.decode(errors="backslashreplace").strip()
            shown = text[:_SHOWN] + ("…" if len(text) > _SHOWN else "")
            offences.append(f"it wrote {shown!r} to stdout, which is for results (its output went to stderr)")
        return "; ".join(filter(None, offences))

    def _restore_stream(self, number: int, name: str, before: IO[str] | None) -> str:
        if before is None:
            return ""
        if before.closed:
            # a stream with the settings of the old one; its descriptor stays open if the old one is deleted
            fresh = TextIOWrapper(
                open(number, "wb", closefd=False),  # noqa: SIM115 (for the rest of the process)
                encoding=getattr(before, "encoding", "utf-8"),
                errors=getattr(before, "errors", "strict"),
                line_buffering=bool(getattr(before, "line_buffering", False)),
            )
            setattr(sys, name, fresh)
            if getattr(sys, f"__{name}__") is before:
                setattr(sys, f"__{name}__", fresh)
            return f"it closed sys.{name}"
        with suppress(OSError):  # the plugin may have closed the descriptor
            before.flush()
        if getattr(sys, name, None) is before:
            return ""
        setattr(sys, name, before)
        return f"it replaced sys.{name}"


def _is_open(number: int) -> bool:
    return _is_same_file(number, number)


def _is_same_file(number: int, other: int) -> bool:
    """Return whether two descriptors are open and refer to the same file."""
    try:
        return os.path.sameopenfile(number, other)
    except OSError:
        return False


def _open_nameless_file() -> int:
    """Return a descriptor for a new nameless file that child processes do not inherit."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gymposium")
    import tempfile  # slow to import, and not used on Linux

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
