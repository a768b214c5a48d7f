"""CPU time of `import gymposium` against `import gymnasium, pettingzoo`, which it stands on.

Each import runs in a fresh process that times it from inside, so the interpreter's own start is not
counted; the two take turns. NumPy is held to one thread: its pool, which costs more the more cores there
are, would make the ratio look better than it is. The plugins that are installed are loaded by the import
and are named in the result.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.report import RESULTS, about, table, write
from gymposium.plugins.host import host

PROGRAM = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"
IMPORTS = {"base": "gymnasium, pettingzoo", "gymposium": "gymposium"}
MOST = 1.3
"""What the ratio must not exceed."""


def cpu_seconds(modules: str) -> float:
    command = [sys.executable, "-c", PROGRAM.format(modules)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=25, help="fresh processes for each side (default: 25)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    for modules in IMPORTS.values():
        cpu_seconds(modules)  # compiles what was never imported
    times: dict[str, list[float]] = {side: [] for side in IMPORTS}
    for repeat in range(given.repeats):
        for side in IMPORTS if repeat % 2 else reversed(IMPORTS):
            times[side].append(cpu_seconds(IMPORTS[side]))
    ratios = [ours / base for ours, base in zip(times["gymposium"], times["base"], strict=True)]
    ratio = median(ratios)
    data = {
        "about": about("gymposium", "gymnasium", "pettingzoo"),
        "plugins": [plugin.name for plugin in host().plugins if plugin.status == "active"],
        "cpu_seconds": {side: round(median(found), 4) for side, found in times.items()},
        "ratio": round(ratio, 3),
        "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
        "must_be_at_most": MOST,
    }
    rows = [[f"import {IMPORTS[side]}", f"{median(found) * 1000:.0f}"] for side, found in times.items()]
    verdict = "within" if ratio <= MOST else "ABOVE"
    end = f"\nRatio: {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f}), {verdict} the {MOST} that it may be.\n"
    write(given.out, "import_time", data, table(["", "CPU ms"], rows) + end)
    sys.exit(ratio > MOST)


if __name__ == "__main__":
    main()
