"""Resource limits. A program that exceeds them is rejected."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one run."""

    cpu_seconds: int = 2
    memory_bytes: int = 512 * 2**20
    """Maximum size of the address space in bytes."""
    output_bytes: int = 64 * 2**10
    """Maximum number of bytes on standard output and standard error together."""
    open_files: int = 32
    wall_seconds: float = 20.0
    """Wall-clock limit in seconds. It is long, so a busy machine does not change which programs are accepted. The CPU
    time limit is reached first."""

    def rlimits(self) -> str:
        """Return the resource limits by name, for `inside.py`. They forbid growing files and starting processes or
        threads. Root is exempt from the limit on processes.
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
