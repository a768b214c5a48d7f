"""The memory allocator of the C library, which keeps freed memory by default."""

from __future__ import annotations

import ctypes
import sys

THRESHOLD = 4 * 2**20
"""Size in bytes from which a tensor has a mapping of its own."""
_M_MMAP_THRESHOLD = -3


def return_large_blocks() -> None:
    """Let glibc return the memory of large tensors to the system as soon as they are freed.

    By default its threshold follows the sizes that are freed, up to 32 MiB, and what is below comes from a heap, which
    fragments: the peak of an update with checkpointing was twice what its tensors took. It costs about 4 % of time.
    Other C libraries are left as they are."""
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(_M_MMAP_THRESHOLD, THRESHOLD)
