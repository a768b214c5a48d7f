"""The command `gymposium leaderboard`, with one module per subcommand."""

from __future__ import annotations

import typer

from gymposium_arena.cli.leaderboard.build import build_site
from gymposium_arena.cli.leaderboard.rate import rate
from gymposium_arena.cli.leaderboard.run import run_suite
from gymposium_arena.cli.leaderboard.verify import verify

command = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Play tournaments, rate players, and verify and publish boards.",
)
command.command("run")(run_suite)
command.command("rate")(rate)
command.command("verify")(verify)
command.command("build")(build_site)


@command.callback()
def _group() -> None:
    """Play tournaments, rate players, and verify and publish boards."""
