"""Files of results: a JSON file with the command and the versions, and a Markdown file with a short table."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gymposium.util.durable import replace_text

RESULTS = Path(__file__).parent / "results"

Row = dict[str, Any]
"""One part of a result, as in its JSON file."""


def about(*distributions: str) -> dict[str, Any]:
    """Return the facts needed to interpret or reproduce a result: command, date, machine and versions."""
    versions: dict[str, str | None] = {}
    for name in distributions:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return {
        "command": _command(),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": versions,
    }


def _command() -> str:
    """Return the command without `--out` and `--runs`, the folders on this machine that do not change a result."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    arguments = sys.argv[1:]
    for folder in ("--out", "--runs"):
        if folder in arguments:
            at = arguments.index(folder)
            del arguments[at : at + 2]
    return " ".join(["python -m", spec.name.removesuffix(".__main__") if spec else sys.argv[0], *arguments])


def _commit() -> str | None:
    """Return the commit of this code; None without git."""
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows)) + "\n"


def write(folder: Path, name: str, data: dict[str, Any], text: str, *, quiet: bool = False) -> None:
    """Write the result `name` of a benchmark atomically, so an interruption keeps the earlier files.

    `data` holds what `about` returns. The text is also printed unless `quiet`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    replace_text(folder / f"{name}.json", json.dumps(data, indent=2) + "\n")
    facts = data["about"]
    made = ", ".join(f"{k} {v}" for k, v in {"Python": facts["python"], **facts["versions"]}.items() if v)
    commit = f", commit {facts['commit']}" if facts.get("commit") else ""
    head = f"# {name}\n\n`{facts['command']}`, {facts['date']}{commit}, {facts['machine']}; {made}.\n\n"
    replace_text(folder / f"{name}.md", head + text)
    if not quiet:
        print(text)
        print(f"Written: {folder / name}.json and .md")


class KeptRows:
    """Rows of the result `name`, each written when it is done, so an interrupted command can resume.

    Each row records its versions of `distributions`. The Markdown file has the `text` of all.
    """

    def __init__(
        self, folder: Path, name: str, distributions: Sequence[str], text: Callable[[Sequence[Row]], str]
    ) -> None:
        self._folder, self._name, self._distributions, self._text = folder, name, distributions, text
        file = folder / f"{name}.json"
        data = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self.rows: list[Row] = data.get("rows", [])
        self._made = data.get("about", about(*distributions))

    def __contains__(self, facts: Row) -> bool:
        """Return whether a row has these facts."""
        return any(facts.items() <= row.items() for row in self.rows)

    def add(self, row: Row, *, key: Callable[[Row], Any] | None = None) -> None:
        """Append a row, or sort it in by `key`, and write the files."""
        self._made = about(*self._distributions)
        self.rows.append({**row, "about": self._made})
        if key is not None:
            self.rows.sort(key=key)
        self._write(quiet=True)
        print(f"rows kept: {len(self.rows)}", flush=True)

    def remove(self, facts: Row) -> None:
        """Remove the rows that have these facts; the files follow with the next row."""
        self.rows = [row for row in self.rows if not facts.items() <= row.items()]

    def show(self) -> None:
        """Print the text of the rows, and write it: its wording may be newer than the rows."""
        self._write(quiet=False)

    def _write(self, *, quiet: bool) -> None:
        data = {"about": self._made, "rows": self.rows}
        write(self._folder, self._name, data, self._text(self.rows), quiet=quiet)
