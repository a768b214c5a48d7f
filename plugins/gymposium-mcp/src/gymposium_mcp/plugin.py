"""The plugin gymposium-mcp: a game with the tools of an MCP server, and the command `serve-mcp`."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import CommandSpec, GameSpec, Parameter, hookimpl


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    """Yield the game."""
    yield GameSpec(
        name="mcp",
        title="MCP server",
        summary="Answer a question with the tools of an MCP server.",
        entry_point="gymposium_mcp.world:game",
        family="tasks",
        seats=1,
        parameters=(
            Parameter(
                name="file",
                default="",
                help="A TOML file that names a server, its tools and files of questions. Without it, a small example.",
                opens="a file that starts a program or asks a server",
            ),
            Parameter(
                name="split",
                default="train",
                choices=("train", "test"),
                help="Which of the two files of questions is asked.",
            ),
        ),
        examples=({}, {"split": "test"}),
        information="imperfect",
        chance=True,
        utility="score",
        free_text=True,
        tools="recorded",
        replay="gymposium.tasks:make_recorded_tool_game",
        unsearchable="search cannot guess what tools would return",
    )


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="serve-mcp",
        summary="Serve games and tasks to MCP clients.",
        entry_point="gymposium_mcp.cli:command",
        order=25,
    )
