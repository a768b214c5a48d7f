"""`--json`: the option, and a stdout that holds the JSON and nothing else."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer

from gymposium.cli.text import finite

_results: int | None = None
"""The descriptor of the stdout that the process was started with, where it is kept for the JSON."""


def _keep_stdout(wanted: bool) -> bool:
    """From here to the end of the process only `print_json` writes to stdout. What else is written there, by games,
    players and libraries in C as well, goes to stderr."""
    global _results
    if wanted and _results is None and _is_stdout(sys.stdout):
        sys.stdout.flush()
        _results = os.dup(1)
        os.dup2(2, 1)
    return wanted


def _is_stdout(stream: Any) -> bool:
    """Whether it writes to file descriptor 1, as it does unless somebody has replaced it, such as a test."""
    try:
        os.fstat(2)
        return bool(stream.fileno() == 1)
    except (AttributeError, OSError, ValueError):
        return False


JsonOption = Annotated[
    bool,
    typer.Option("--json", callback=_keep_stdout, help="Print JSON on stdout; all else stays on stderr."),
]


def print_json(data: Any) -> None:
    """JSON on stdout, in ASCII, which every terminal and every reply survives; a figure that does not exist
    (NaN) is null."""
    print_json_text(json.dumps(finite(data), indent=2, allow_nan=False) + "\n")


def print_json_text(text: str) -> None:
    """JSON that is text already, on stdout as it is."""
    if _results is None:
        sys.stdout.write(text)
        return
    rest = text.encode()
    while rest:
        rest = rest[os.write(_results, rest) :]
