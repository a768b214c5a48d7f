"""The process of a rank: `python -m gymposium_ray.rank_process ARGUMENTS` runs `gymposium ARGUMENTS` and ends with its
parent."""

from __future__ import annotations

import os
import signal
import sys
import threading


def _end_with_starter() -> None:
    """Kill this process group when the parent's end of standard input closes."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Run the command, with SIGINT and SIGTERM unblocked: Ray's worker threads block signals."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_starter, daemon=True).start()
    sys.argv[0] = "gymposium"
    from gymposium.cli.main import main as run_command  # by the name above, importing it knows this for the command

    run_command()


if __name__ == "__main__":
    main()
