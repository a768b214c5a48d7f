"""The command `gymposium trace`."""

from __future__ import annotations

import platform
from collections import Counter
from typing import Annotated

import typer
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import make_stdout_console, print_note, print_text as show_text
from gymposium.errors import BadOption, BadParameter
from gymposium.games.registry import load_game
from gymposium.util.streams import Draw, stream
from gymposium.util.visible import quantity, visible
from gymposium_trace.game import Trace
from gymposium_trace.inject import InjectionError
from gymposium_trace.running.backends import BACKENDS, PYTHON
from gymposium_trace.running.probe import WALLS, describe_remedy, probe_backend
from gymposium_trace.sources import DatasetPrograms, read_rows
from gymposium_trace.tasks import UnusableProgram

command = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode="rich", help="Code tracing: programs and their truth."
)


@command.callback()
def _group() -> None:
    """Show traced programs, check your own, and test what this machine can run."""


@command.command()
def show(
    game: Annotated[str, typer.Argument(metavar="GAME", help="The game, with its parameters.")] = "trace",
    seed: Annotated[int, typer.Option(help="The seed of the match.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show the program of a seed and its output.

    Examples:

        gymposium trace show --seed 3
        gymposium trace show "trace(difficulty=5,prints=6)"
    """
    loaded = load_game(game)
    if not isinstance(loaded, Trace):
        raise BadOption(f"{game!r} is not a code-tracing game. Use trace or trace(difficulty=5).")
    task = loaded.new(seed).task
    if as_json:
        parts = {"program": task.program, "inputs": task.inputs, "truth": task.truth, "python": task.python or None}
        print_json({"game": loaded.name, "seed": seed, **parts})
        return
    console = make_stdout_console()
    for title, text in (("Program", task.program), ("Standard input", task.inputs), ("It prints", task.truth)):
        if text:
            console.print(title, style="bold")
            show_text(console, text)


@command.command()
def check(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A JSONL file, hub:NAME or hub:NAME:SPLIT.")],
    prints: Annotated[int, typer.Option(help="Most debug prints in each program.")] = 4,
    as_json: JsonOption = False,
) -> None:
    """Run every program from a source and list rejected programs with the reason.

    A program is accepted if two runs agree, end without an error within the limits, and print something. Programs
    are numbered from 0. The exit status is 0 if any program is accepted, else 1.

    Examples:

        gymposium trace check programs.jsonl
        gymposium trace check hub:owner/name:train --json
    """
    if source == "generated":
        raise BadParameter("Generated programs need no check. Name a file or a data set.")
    programs = DatasetPrograms(source, lambda: read_rows(source), prints)
    skipped: dict[int, str] = {}
    for number in range(len(programs.rows)):
        try:
            programs.task(number, Draw(stream(number, "check")))
        except (InjectionError, UnusableProgram) as error:
            skipped[number] = str(error)
    good = len(programs.rows) - len(skipped)
    if as_json:
        lines = [{"number": number, "reason": reason} for number, reason in skipped.items()]
        print_json({"source": source, "programs": len(programs.rows), "count": good, "skipped": lines})
    else:
        console = make_stdout_console()
        for number, reason in skipped.items():
            console.print(visible(f"program {number} does not count: {reason}"), soft_wrap=True)
        console.print(visible(f"{source}: {good} of {len(programs.rows)} programs count."), soft_wrap=True)
        for reason, times in Counter(skipped.values()).most_common(5):
            if times > 1:
                print_note(f"{quantity(times, 'time')}: {reason}")
    if not good:
        raise typer.Exit(1)


@command.command()
def doctor(as_json: JsonOption = False) -> None:
    """Test which kinds of isolation work on this machine.

    A test program tries to escape from each backend. Generated programs need a backend that works. Programs from a
    file or a hub need one that isolates fully. The exit status is 0 if generated programs can be run, else 1.

    Examples:

        gymposium trace doctor
        gymposium trace doctor --json
    """
    results = [probe_backend(backend) for backend in BACKENDS]
    generated, given = any(way.works for way in results), any(way.isolates for way in results)
    if as_json:
        ways = [
            {
                "name": way.backend.name,
                "works": way.works,
                "isolates": way.isolates,
                "lets": list(way.lets),
                "reason": way.reason or None,
            }
            for way in results
        ]
        runs_on = {"python": platform.python_version(), "executable": PYTHON}
        print_json({**runs_on, "generated": generated, "given": given, "ways": ways})
    else:
        console = make_stdout_console()
        console.print(visible(f"Programs are run by CPython {platform.python_version()}, {PYTHON}."), soft_wrap=True)
        table = Table("way", "works", *WALLS, box=None)
        for way in results:
            walls = ["open" if wall in way.lets else "shut" for wall in WALLS] if way.works else ["–"] * len(WALLS)
            table.add_row(way.backend.name, "yes" if way.works else "no", *walls)
        console.print(table)
        for way in results:
            if not way.works:
                missing = f"{way.backend.name}: {way.reason}{describe_remedy(way.backend)}."
                console.print(visible(missing), soft_wrap=True)
        console.print(f"Generated programs: {'yes' if generated else 'no'}.")
        console.print(f"Programs from a file or a hub: {'yes' if given else 'no; no way of running isolates them'}.")
    if not generated:
        raise typer.Exit(1)
