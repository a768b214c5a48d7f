"""What a program may use. Whatever goes beyond does not count."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run."""

    cpu_seconds: int = 2
    memory_bytes: int = 512 * 2**20
    """Address space."""
    output_bytes: int = 64 * 2**10
    """On standard output and standard error together."""
    open_files: int = 32
    wall_seconds: float = 20.0
    """Long, because a busy machine must not change what counts: the limit that programs meet is that of CPU time."""

    def rlimits(self) -> str:
        """The kernel's limits by name, as `inside.py` takes them. No file may grow, and no process or thread may be
        started (the last does not hold for the superuser)."""
        values = {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_AS": self.memory_bytes,
            "RLIMIT_FSIZE": 0,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_NPROC": 0,
            "RLIMIT_CORE": 0,
        }
        return ",".join(f"{name}={value}" for name, value in values.items())
