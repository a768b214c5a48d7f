"""`gymposium verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import complain, out
from gymposium.records import verify_file
from gymposium.visible import visible


def command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="Record files (JSONL)."),
    ],
    as_json: JsonOption = False,
) -> None:
    """Play every recorded match again and report what does not agree.

    For each record two facts are checked: that its events make a legal match with these returns, and that
    its seed draws the same chance. Replies are read again and the prompts' digests made again. The first
    difference of each bad record is told. A line that is half-written or is no record is named and does not
    stop the rest. Ends with 0 where all is well, else 1; a file without any record is not well.

    A game that imports a module or opens a file is played only where you allow it: gymposium --allow NAME verify FILE.

    Examples:

        gymposium verify gymposium-runs/2026-11-23-run-1/matches.jsonl
        gymposium verify runs/*.jsonl --json
    """
    checked = [(path, verify_file(path)) for path in files]
    bad = sum(len(found.problems) for _, found in checked)
    if as_json:
        print_json(
            {
                "files": [
                    {
                        "file": str(path),
                        "matches": found.matches,
                        "not_played": found.not_played,
                        "problems": [{"where": p.where, "what": p.what} for p in found.problems],
                    }
                    for path, found in checked
                ],
                "problems": bad,
            }
        )
    else:
        console = out()
        for path, found in checked:
            if not found.matches + found.not_played:
                complain(str(found.problems[0]))
                continue
            for problem in found.problems:
                console.print(visible(str(problem)), style="red", soft_wrap=True)
            bad_lines = len(found.problems)
            verdict = (
                "all agree" if not bad_lines else f"{bad_lines} {'line' if bad_lines == 1 else 'lines'} to look at"
            )
            plural = "match" if found.matches == 1 else "matches"
            missed = f", {found.not_played} could not be" if found.not_played else ""
            console.print(f"{path}: {found.matches} {plural} played again{missed}; {verdict}.", soft_wrap=True)
    if bad:
        raise typer.Exit(1)
