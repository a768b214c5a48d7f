"""The option `--json`, which reserves stdout for the JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer

from gymposium.cli.text import replace_nonfinite

_results: int | None = None
"""Descriptor of the original stdout while stdout is reserved for the JSON; otherwise None."""


def _keep_stdout(wanted: bool) -> bool:
    """Reserve stdout for `print_json` until the process ends.

    All other output to it, including output from C libraries, goes to stderr."""
    global _results
    if wanted and _results is None and _is_stdout(sys.stdout):
        sys.stdout.flush()
        _results = os.dup(1)
        os.dup2(2, 1)
    return wanted


def _is_stdout(stream: Any) -> bool:
    """Return whether a stream writes to file descriptor 1.

    It may not: a test, for example, may have replaced `sys.stdout`."""
    try:
        os.fstat(2)
        return bool(stream.fileno() == 1)
    except (AttributeError, OSError, ValueError):
        return False


JsonOption = Annotated[
    bool,
    typer.Option("--json", callback=_keep_stdout, help="Print JSON on stdout and everything else on stderr"),
]


def print_json(data: Any) -> None:
    """Print data as ASCII JSON on stdout, which every terminal can show. NaN becomes null."""
    print_json_text(json.dumps(replace_nonfinite(data), indent=2, allow_nan=False) + "\n")


def print_json_text(text: str) -> None:
    """Print JSON text on stdout unchanged."""
    if _results is None:
        sys.stdout.write(text)
        return
    rest = text.encode()
    while rest:
        rest = rest[os.write(_results, rest) :]
