"""`gymposium trace`."""

from __future__ import annotations

import platform
from collections import Counter
from typing import Annotated

import typer
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import note, out, show as show_text
from gymposium.errors import BadOption, BadParameter
from gymposium.games.registry import load_game
from gymposium.streams import stream
from gymposium.visible import visible
from gymposium_trace.drawing import Draw
from gymposium_trace.game import Trace
from gymposium_trace.inject import Uninjectable
from gymposium_trace.running.backends import BACKENDS, PYTHON
from gymposium_trace.running.probe import WALLS, probe, remedy
from gymposium_trace.sources import Given, read_rows
from gymposium_trace.tasks import DoesNotCount

command = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode="rich", help="Code tracing: programs and their truth."
)


@command.callback()
def _group() -> None:
    """Code tracing: look at programs, check your own, see what this machine can do."""


@command.command()
def show(
    game: Annotated[str, typer.Argument(metavar="GAME", help="The game, with its parameters.")] = "trace",
    seed: Annotated[int, typer.Option(help="The seed of the match.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """The program of a seed, and what it prints.

    Examples:

        gymposium trace show --seed 3
        gymposium trace show "trace(difficulty=5,prints=6)"
    """
    loaded = load_game(game)
    if not isinstance(loaded, Trace):
        raise BadOption(f"{game!r} is not code tracing. Write trace, or trace(difficulty=5).")
    task = loaded.new(seed).task
    if as_json:
        parts = {"program": task.program, "inputs": task.inputs, "truth": task.truth, "python": task.python or None}
        print_json({"game": loaded.name, "seed": seed, **parts})
        return
    console = out()
    for title, text in (("Program", task.program), ("Standard input", task.inputs), ("It prints", task.truth)):
        if text:
            console.print(title, style="bold")
            show_text(console, text)


@command.command()
def check(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A JSONL file, hub:NAME or hub:NAME:SPLIT.")],
    prints: Annotated[int, typer.Option(help="Debug prints put into each program, at most.")] = 4,
    as_json: JsonOption = False,
) -> None:
    """Run every program of a source and say which do not count, and why.

    A program counts where two runs agree, end without an error within the limits, and print something. They are
    numbered from 0. Ends with 0 where some count, else 1.

    Examples:

        gymposium trace check programs.jsonl
        gymposium trace check hub:owner/name:train --json
    """
    if source == "generated":
        raise BadParameter("Generated programs need no check: name a file or a data set.")
    given = Given(source, lambda: read_rows(source), prints)
    skipped: dict[int, str] = {}
    for number in range(len(given.rows)):
        try:
            given.task(number, Draw(stream(number, "check")))
        except (Uninjectable, DoesNotCount) as error:
            skipped[number] = str(error)
    good = len(given.rows) - len(skipped)
    if as_json:
        lines = [{"number": number, "reason": reason} for number, reason in skipped.items()]
        print_json({"source": source, "programs": len(given.rows), "count": good, "skipped": lines})
    else:
        console = out()
        for number, reason in skipped.items():
            console.print(visible(f"program {number} does not count: {reason}"), soft_wrap=True)
        console.print(visible(f"{source}: {good} of {len(given.rows)} programs count."), soft_wrap=True)
        for reason, times in Counter(skipped.values()).most_common(5):
            if times > 1:
                note(f"{times} times: {reason}")
    if not good:
        raise typer.Exit(1)


@command.command()
def doctor(as_json: JsonOption = False) -> None:
    """What this machine can run, found out by trying: a program inside each way of running tries to get out.

    Generated programs need a way that works; programs from a file or a hub need one whose walls all hold. Ends with 0
    where generated programs can be run, else 1.

    Examples:

        gymposium trace doctor
        gymposium trace doctor --json
    """
    found = [probe(backend) for backend in BACKENDS]
    ours, anybodys = any(one.works for one in found), any(one.isolates for one in found)
    if as_json:
        ways = [
            {
                "name": one.backend.name,
                "works": one.works,
                "isolates": one.isolates,
                "lets": list(one.lets),
                "reason": one.reason or None,
            }
            for one in found
        ]
        runs_on = {"python": platform.python_version(), "executable": PYTHON}
        print_json({**runs_on, "generated": ours, "given": anybodys, "ways": ways})
    else:
        console = out()
        console.print(visible(f"Programs are run by CPython {platform.python_version()}, {PYTHON}."), soft_wrap=True)
        table = Table("way", "works", *WALLS, box=None)
        for one in found:
            walls = ["open" if wall in one.lets else "shut" for wall in WALLS] if one.works else ["–"] * len(WALLS)
            table.add_row(one.backend.name, "yes" if one.works else "no", *walls)
        console.print(table)
        for one in found:
            if not one.works:
                missing = f"{one.backend.name}: {one.reason}{remedy(one.backend)}."
                console.print(visible(missing), soft_wrap=True)
        console.print(f"Generated programs: {'yes' if ours else 'no'}.")
        console.print(f"Programs from a file or a hub: {'yes' if anybodys else 'no; no way of running holds them in'}.")
    if not ours:
        raise typer.Exit(1)
