"""Supervisor process between a server and the process that started it. The server ends with either of them.

It runs as a script (`python keeper.py COMMAND …`) and imports nothing of gymposium. It leads a process group with the
server and all its children. When the server dies, the rest of the group is killed, because vLLM's workers do not notice
the death of their parent. When standard input ends, the starter has closed it or has died (even by SIGKILL). The group
then gets SIGTERM, and SIGKILL if it does not end in time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

GRACE_SECONDS = 10.0


def main() -> None:
    """Start the server with the command in the arguments, and supervise it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # this process sends it to its own group
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, preexec_fn=_restore_signals)
    ending = threading.Event()

    def watch() -> None:
        while os.read(0, 1):
            pass
        ending.set()
        os.killpg(0, signal.SIGTERM)
        try:
            server.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            print("The server did not end in time. Killing it.", flush=True)
            os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    code = server.wait()
    if not ending.is_set():
        print(f"The server exited on its own with code {code}.", flush=True)
    os.killpg(0, signal.SIGKILL)  # the rest of the group, with this process


def _restore_signals() -> None:
    """Restore the default signal handlers, because the server would inherit ignored signals."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
