"""Limits of a program's resources. A program that exceeds them does not count."""

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
    """Long, so that a busy machine does not change which programs count. Programs meet the limit of CPU time first."""

    def rlimits(self) -> str:
        """Return the kernel's limits by name, as `inside.py` takes them.

        No file may grow, and no process or thread may be started. The last limit does not hold for the superuser."""
        values = {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_AS": self.memory_bytes,
            "RLIMIT_FSIZE": 0,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_NPROC": 0,
            "RLIMIT_CORE": 0,
        }
        return ",".join(f"{name}={value}" for name, value in values.items())
