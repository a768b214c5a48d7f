"""Stands between a server and whoever started it, so that no part of the server outlives either.

Runs by itself (`python keeper.py COMMAND …`) and imports nothing of gymposium. It leads a process group that
the server and all its children are in. When the server dies, the rest of the group is killed: vLLM's workers do not
notice the death of their parent. When standard input ends, the starter is gone (even by SIGKILL) or wants an end:
the group is asked to end, and killed where it does not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

GRACE_SECONDS = 10.0


def main() -> None:
    """Keep the server that the arguments start."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is sent to the group that this process leads
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = subprocess.Popen(
        sys.argv[1:],
        stdin=subprocess.DEVNULL,
        preexec_fn=_default_signals,
    )
    ending = threading.Event()

    def watch() -> None:
        while os.read(0, 1):
            pass
        ending.set()
        os.killpg(0, signal.SIGTERM)
        try:
            server.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            print("The server did not end in time and is killed.", flush=True)
            os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    code = server.wait()
    if not ending.is_set():
        print(f"The server ended by itself, with code {code}.", flush=True)
    os.killpg(0, signal.SIGKILL)  # what is left of the group, and this process with it


def _default_signals() -> None:
    """What is ignored here would stay ignored in the server."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
