"""CPU time of `import gymposium` and of short commands, beside `import gymnasium, pettingzoo`.

Each runs in a fresh process, and all take turns. An import is timed in the process. A command is timed from outside:
the CPU time of its process, less that of a bare interpreter, so the start of the interpreter never counts. NumPy is
limited to one thread, because its thread pool costs more on more cores and would improve the ratio of the import. The
import and the commands load the installed plugins, which are named in the result.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.report import RESULTS, about, table, write
from gymposium.plugins.host import host

PROGRAM = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"
BASE = "import gymnasium, pettingzoo"
IMPORTS = {BASE: "gymnasium, pettingzoo", "import gymposium": "gymposium"}
COMMANDS = {
    "gymposium --version": ["--version"],
    "gymposium --help": ["--help"],
    "gymposium list": ["list"],
    "gymposium train --dry-run": ["train", "--dry-run", "--game", "tic_tac_toe"],
}
SCRIPT = Path(sys.executable).with_name("gymposium")
MOST = 1.3
"""Greatest allowed ratio of `import gymposium`."""


def cpu_seconds_of_import(modules: str) -> float:
    """Return the CPU seconds of an import, measured by the process that imports."""
    command = [sys.executable, "-c", PROGRAM.format(modules)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=_environment()).stdout)


def cpu_seconds(command: list[str], folder: str) -> float:
    """Return the CPU seconds of a whole process."""
    none = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=none, stdout=none, stderr=none, env=_environment(), cwd=folder) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return used.ru_utime + used.ru_stime


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def measured(side: str, folder: str) -> float:
    """Return the CPU seconds of one side, without the start of the interpreter."""
    if side in IMPORTS:
        return cpu_seconds_of_import(IMPORTS[side])
    bare = cpu_seconds([sys.executable, "-c", "pass"], folder)
    return cpu_seconds([sys.executable, str(SCRIPT), *COMMANDS[side]], folder) - bare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=25, help="fresh processes for each side (default: 25)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    sides = [*IMPORTS, *COMMANDS]
    times: dict[str, list[float]] = {side: [] for side in sides}
    with tempfile.TemporaryDirectory() as folder:
        for side in sides:
            measured(side, folder)  # compiles modules that were never imported
        for repeat in range(given.repeats):
            for side in sides if repeat % 2 else reversed(sides):
                times[side].append(measured(side, folder))
    ratios = {side: [ours / base for ours, base in zip(times[side], times[BASE], strict=True)] for side in sides[1:]}
    data = {
        "about": about("gymposium", "gymposium-train", "gymnasium", "pettingzoo", "typer"),
        "plugins": [plugin.name for plugin in host().plugins if plugin.status == "active"],
        "cpu_seconds": {side: round(median(found), 4) for side, found in times.items()},
        "ratio": {side: round(median(found), 3) for side, found in ratios.items()},
        "ratio_range": {side: [round(min(found), 3), round(max(found), 3)] for side, found in ratios.items()},
        "must_be_at_most": {"import gymposium": MOST},
    }
    rows = [[BASE, f"{median(times[BASE]) * 1000:.0f}", "1", ""]]
    for side, found in ratios.items():
        shown = f"{median(times[side]) * 1000:.0f}"
        rows.append([f"`{side}`", shown, f"{median(found):.2f}", f"{min(found):.2f} to {max(found):.2f}"])
    ratio = median(ratios["import gymposium"])
    verdict = "within" if ratio <= MOST else "ABOVE"
    end = f"\n`import gymposium`: {ratio:.2f}, {verdict} the {MOST} that it may be.\n"
    write(given.out, "import_time", data, table(["", "CPU ms", "ratio", "range"], rows) + end)
    sys.exit(ratio > MOST)


if __name__ == "__main__":
    main()
