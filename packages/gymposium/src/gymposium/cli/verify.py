"""`gymposium verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import complain, out
from gymposium.records import match_files, verify_file
from gymposium.visible import visible


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|DIR", exists=True, readable=True, help="Record files (JSONL), or folders of runs."
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Play every recorded match again and report what does not agree.

    Each match is played from its seeds with the recorded replies, and must give the same record: chance, readings,
    moves drawn for failed replies, ending, returns and the digests of the prompts. Its events, loaded, must make a
    legal match too. The first difference of each bad record is printed. A line that is cut off or is no record is
    named and does not stop the rest.

    A file of a run is also compared with its manifest (matches.manifest.json): matches that are missing from a
    finished run, repeated, exchanged or not planned are named. A file without a manifest is verified line by line.

    Exits with 0 if everything agrees, else with 1; a file without any record is an error.

    A game that imports a module or opens a file is played only where you allow it: gymposium --allow NAME verify FILE.

    Examples:

        gymposium verify gymposium-runs/2026-11-23-run-1
        gymposium verify runs/*.jsonl --json
    """
    checked = [(path, verify_file(path)) for given in files for path in match_files(given)]
    bad = sum(len(found.problems) for _, found in checked)
    if as_json:
        print_json(
            {
                "files": [
                    {
                        "file": str(path),
                        "matches": found.matches,
                        "not_played": found.not_played,
                        "planned": found.planned,
                        "finished": found.finished,
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
            unfinished = "" if found.planned is None or found.finished else f" of {found.planned} planned"
            console.print(
                f"{path}: {found.matches} {plural}{unfinished} played again{missed}; {verdict}.", soft_wrap=True
            )
    if bad:
        raise typer.Exit(1)
