"""What gymposium-trace adds: one game and one command."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import CommandSpec, GameSpec, Parameter, hookimpl


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    """The game of code tracing."""
    yield GameSpec(
        name="trace",
        title="Code tracing",
        summary="Predict exactly what a Python program prints.",
        entry_point="gymposium_trace.game:Trace",
        seats=1,
        parameters=(
            Parameter(
                name="difficulty",
                default=2,
                low=1,
                high=5,
                help="How hard the generated programs are: 1 has branches and loops, 5 classes and generators.",
            ),
            Parameter(name="prints", default=4, low=0, high=20, help="Debug prints put into a program, at most."),
            Parameter(
                name="source",
                default="generated",
                help="Where programs come from: generated, a JSONL file, or hub:NAME or hub:NAME:SPLIT.",
                opens="a file or a data set of the hub",
            ),
        ),
        examples=({}, {"difficulty": 5}),
        chance=True,
        utility="score",
        free_text=True,
        unsearchable="its moves are free text, and its answer is what the player is to work out",
    )


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    """`gymposium trace`."""
    yield CommandSpec(
        name="trace",
        summary="Code tracing: look at programs, check your own, see what this machine can do.",
        entry_point="gymposium_trace.cli:command",
        order=90,
    )
