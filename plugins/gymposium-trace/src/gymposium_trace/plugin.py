"""The plugin gymposium-trace: the game of code tracing and the command `gymposium trace`."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import CommandSpec, GameSpec, Parameter, hookimpl


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    """Yield the game of code tracing."""
    yield GameSpec(
        name="trace",
        title="Code tracing",
        summary="Predict exactly what a Python program prints.",
        entry_point="gymposium_trace.game:Trace",
        family="tasks",
        seats=1,
        parameters=(
            Parameter(
                name="difficulty",
                default=2,
                low=1,
                high=5,
                help="Difficulty of generated programs: 1 has branches and loops, 5 classes and generators.",
            ),
            Parameter(name="prints", default=4, low=0, high=20, help="Most debug prints in a program."),
            Parameter(
                name="source",
                default="generated",
                help="Source of programs: generated, a JSONL file, hub:NAME or hub:NAME:SPLIT.",
                opens="a file or a data set of the hub",
            ),
        ),
        examples=({}, {"difficulty": 5}),
        chance=True,
        utility="score",
        free_text=True,
        unsearchable="its moves are free text, and worlds would reveal the answer",
    )


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    """Yield the command `gymposium trace`."""
    yield CommandSpec(
        name="trace",
        summary="Show traced programs, check your own, and test what this machine can run.",
        entry_point="gymposium_trace.cli:command",
        order=90,
    )
