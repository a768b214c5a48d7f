"""The `gymposium` command, with the most memory that its process took as its last line on stderr, in MiB."""

from __future__ import annotations

import atexit
import resource
import sys

from gymposium.cli.main import main


def _tell() -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"\npeak memory: {peak}", file=sys.stderr, flush=True)


atexit.register(_tell)
main()
