"""Resource limits. A program that exceeds them is rejected."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run."""

    cpu_seconds: int = 2
    memory_bytes: int = 512 * 2**20
    """Size of the address space."""
    output_bytes: int = 64 * 2**10
    """Bytes on standard output and standard error together."""
    open_files: int = 32
    wall_seconds: float = 20.0
    """Long, so that a busy machine does not change which programs are accepted. The CPU time limit is reached first."""

    def rlimits(self) -> str:
        """Return the kernel's limits by name, as `inside.py` takes them.

        They forbid growing files and starting processes or threads. The last limit does not apply to root.
        """
        values = {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_AS": self.memory_bytes,
            "RLIMIT_FSIZE": 0,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_NPROC": 0,
            "RLIMIT_CORE": 0,
        }
        return ",".join(f"{name}={value}" for name, value in values.items())
