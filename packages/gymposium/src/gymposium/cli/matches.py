"""What the verbs that play share: where the record goes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymposium.errors import BadOption
from gymposium.records import RecordWriter

RECORD = Path("gymposium-runs/matches.jsonl")

RecordOption = Annotated[
    Path, typer.Option("--record", metavar="FILE", help="The file that every finished match is appended to.")
]


def open_record(path: Path) -> RecordWriter:
    """A writer for the file, or `BadOption` with the reason."""
    try:
        return RecordWriter(path)
    except OSError as error:
        raise BadOption(f"--record {path}: cannot be written ({error.strerror}).") from error
