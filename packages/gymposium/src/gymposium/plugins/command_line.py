"""Shell commands that gymposium prints for the user to type."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from gymposium.plugins.allowed import list_allowed_names, list_allowed_variables
from gymposium.plugins.host import ONLY
from gymposium.util.child_process import list_plugin_files


def format_command_line(*arguments: str, allow: Iterable[str] = (), plugins: Iterable[Path] | None = None) -> str:
    """Return the shell command `gymposium` with these arguments and this process's global options.

    `allow` are further names to allow. `plugins` are the one-file plugins to load, by default those in this process
    that the user's file does not load anyway."""
    options = ["--no-plugins"] if os.environ.get(ONLY) == "" else []
    for option, values in {
        "--plugin": map(str, list_plugin_files() if plugins is None else plugins),
        "--allow": [*allow, *list_allowed_names()],
        "--allow-env": list_allowed_variables(),
    }.items():
        options += [part for value in dict.fromkeys(values) for part in (option, value)]
    return shlex.join(["gymposium", *options, *arguments])
