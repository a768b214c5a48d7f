"""The process of a rank: `python -m gymposium_ray.rank_process ARGUMENTS` is the command `gymposium ARGUMENTS`, which
ends with the process that started it."""

from __future__ import annotations

import os
import signal
import sys
import threading


def _end_with_starter() -> None:
    """End this process group at the end of its standard input, which the starter holds open."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Run the command. Ctrl-C and SIGTERM reach it, although the Ray worker threads that start it block signals."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_starter, daemon=True).start()
    sys.argv[0] = "gymposium"
    from gymposium.cli.main import main as run_command  # by the name above, importing it knows this for the command

    run_command()


if __name__ == "__main__":
    main()
