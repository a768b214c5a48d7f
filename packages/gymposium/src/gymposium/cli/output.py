"""Conversion of errors from full disks and unwritable paths to gymposium errors."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gymposium.errors import GymposiumError

_REMEDIES = {
    **dict.fromkeys(
        (errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "Free space there, raise the limit, or write to another path."
    ),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Write to a path where you have permission."),
    errno.EIO: "Check the device, or write to another path.",
}


@contextmanager
def convert_output_errors() -> Iterator[None]:
    """Flush stdout at the end of the block, and raise `GymposiumError` if stdout, a file or a folder cannot be written.

    If a pipe's reader has closed it, the process ends silently with status 1."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
        sys.exit(1)
    except OSError as error:
        if error.errno not in _REMEDIES:
            raise
        what = "The output" if error.filename is None else os.fsdecode(error.filename)
        _abandon_stdout()
        raise GymposiumError(f"{what} cannot be written ({error.strerror}). {_REMEDIES[error.errno]}") from error


def _abandon_stdout() -> None:
    """Discard data that could not be written to stdout. Otherwise Python would try again when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
