"""The option `--json`, with which stdout holds the JSON and nothing else."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer

from gymposium.cli.text import finite

_results: int | None = None
"""File descriptor of the original stdout while it is kept for the JSON; else None."""


def _keep_stdout(wanted: bool) -> bool:
    """Keeps stdout for `print_json` until the process ends. All other output to it, including that of C libraries, goes
    to stderr."""
    global _results
    if wanted and _results is None and _is_stdout(sys.stdout):
        sys.stdout.flush()
        _results = os.dup(1)
        os.dup2(2, 1)
    return wanted


def _is_stdout(stream: Any) -> bool:
    """True if a stream writes to file descriptor 1; a test, for example, may have replaced `sys.stdout`."""
    try:
        os.fstat(2)
        return bool(stream.fileno() == 1)
    except (AttributeError, OSError, ValueError):
        return False


JsonOption = Annotated[
    bool,
    typer.Option("--json", callback=_keep_stdout, help="Print JSON on stdout; all other output goes to stderr."),
]


def print_json(data: Any) -> None:
    """Prints data as JSON on stdout, in ASCII, so that any text can be printed on any terminal. NaN becomes null."""
    print_json_text(json.dumps(finite(data), indent=2, allow_nan=False) + "\n")


def print_json_text(text: str) -> None:
    """Prints JSON text on stdout as it is."""
    if _results is None:
        sys.stdout.write(text)
        return
    rest = text.encode()
    while rest:
        rest = rest[os.write(_results, rest) :]
