"""The trial of one plugin in a child process, where a crash affects nothing else."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from gymposium.plugins.plugin import Plugin
from gymposium.util.child_process import make_python_command, make_python_environment
from gymposium.util.plain_file import read_plain_text

SECONDS = 60
"""Time limit in seconds for loading a plugin. Then its child process is killed."""

CHILD = "gymposium.plugins.trial_process"
"""The module that the child process runs.

If `import gymposium` finds this name on the command line, it loads no plugins."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of loading a plugin in a child process."""

    ending: str = ""
    """How the plugin crashed the process, as text; empty if it did not."""
    error: str = ""
    """Why the plugin is broken; empty if it works."""
    adds: dict[str, list[str]] = field(default_factory=dict)
    """Names that the plugin adds, as in `gymposium.plugins.plugin.Plugin.adds`."""


def run_trial(plugin: Plugin, place: str) -> Trial:
    """Load the plugin in a child process, even if the environment switches it off.

    `place` is the directory of its distribution's metadata, or "" for a one-file plugin."""
    with tempfile.TemporaryDirectory(prefix="gymposium-") as folder:
        report = Path(folder) / "report.json"
        code = f"import sys; sys.path[:] = {sys.path!r}; from {CHILD} import main; main()"
        command = make_python_command("-c", code, CHILD, str(report), plugin.name, plugin.source, place)
        none = subprocess.DEVNULL
        try:
            done = subprocess.run(
                command,
                env=make_python_environment(),
                stdin=none,
                stdout=none,
                stderr=none,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Trial(ending=f"it was not loaded within {SECONDS} seconds")
        except OSError as error:
            return Trial(ending=f"it could not be tried in a child process: {error}")
        if not report.is_file():
            return Trial(ending=_describe_exit(done.returncode))
        return Trial(**json.loads(read_plain_text(report)))


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
