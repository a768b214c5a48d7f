"""The command `gymposium verify`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import make_stdout_console, print_error
from gymposium.plugins.command_line import format_command_line
from gymposium.records import drop_duplicate_files, find_match_files, group_problems, verify_file
from gymposium.util.visible import plural, quantity, visible


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|DIR",
            exists=True,
            readable=True,
            help="Record files (.jsonl, .jsonl.gz), or folders of runs.",
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Replay every recorded match and report differences.

    Each match is replayed from its seeds with the recorded replies. The replay must give the same record: chance,
    readings, moves drawn for failed replies, ending, returns and prompt digests. The events must also load as a legal
    match. The first difference in each record is printed. Identical differences are printed once. Incomplete or invalid
    lines are listed, and the other lines are verified.

    A run's file is also compared with its manifest (matches.manifest.json): missing, duplicate, swapped and unplanned
    matches are listed. A file without a manifest is verified line by line.

    Tools that call a server are not called again, because their results may have changed. Their results come from the
    record, and the manifest's digest reveals modifications. Likewise, records of other libraries' matches (gymposium
    audit) keep the dice and cards drawn there, in games named recorded:GAME.

    The exit code is 0 if everything agrees, else 1. A file without records is an error.

    A game that imports a module or opens a file needs your permission: gymposium --allow NAME verify FILE. Records of
    MCP and OpenEnv servers need no permission, because a replay uses only the record.

    Examples:

        gymposium verify gymposium-runs/2026-11-23-run-1
        gymposium verify runs/*.jsonl --json
    """
    verifications = [
        (path, verify_file(path))
        for path in drop_duplicate_files(path for file in files for path in find_match_files(file))
    ]
    problems = sum(len(verified.problems) for _, verified in verifications)
    if as_json:
        print_json(
            {
                "files": [
                    {
                        "file": str(path),
                        "matches": verified.matches,
                        "not_played": verified.not_played,
                        "unchecked_results": verified.unchecked,
                        "recorded_chance": verified.recorded_chance,
                        "planned": verified.planned,
                        "finished": verified.finished,
                        "problems": [asdict(problem) for problem in verified.problems],
                    }
                    for path, verified in verifications
                ],
                "problems": problems,
            }
        )
    else:
        console = make_stdout_console()
        for path, verified in verifications:
            if not verified.matches + verified.not_played:
                print_error(str(verified.problems[0]))
                print_error(f"For a log of another library, run  {format_command_line('audit', str(path))}")
                continue
            for problem, more in group_problems(verified.problems):
                others = f" (and {more} more with this reason)" if more else ""
                console.print(visible(f"{problem}{others}"), style="red", soft_wrap=True)
            lines = len(verified.problems)
            verdict = f"{quantity(lines, 'line')} to look at" if lines else "all agree"
            noun = plural(verified.matches, "match")
            missed = f", {verified.not_played} could not be" if verified.not_played else ""
            unfinished = "" if verified.planned is None or verified.finished else f" of {verified.planned} planned"
            if verified.unchecked and not verified.finished:
                verdict += f" (the results of tools in {verified.unchecked} cannot be checked without a manifest)"
            if verified.recorded_chance:
                verdict += f" (chance in {verified.recorded_chance} is as recorded, not drawn from a seed)"
            console.print(
                f"{path}: {verified.matches} {noun}{unfinished} played again{missed}; {verdict}.", soft_wrap=True
            )
    if problems:
        raise typer.Exit(1)
