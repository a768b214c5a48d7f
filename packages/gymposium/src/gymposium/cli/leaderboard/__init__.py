"""`gymposium leaderboard`: a file for each of its verbs. What they need is imported when they are used."""

from __future__ import annotations

import typer

from gymposium.cli.leaderboard.build import build_site
from gymposium.cli.leaderboard.rate import rate
from gymposium.cli.leaderboard.run import run_suite
from gymposium.cli.leaderboard.verify import verify

command = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Tournaments between players, and boards that anybody can check.",
)
command.command("run")(run_suite)
command.command("rate")(rate)
command.command("verify")(verify)
command.command("build")(build_site)


@command.callback()
def _group() -> None:
    """Tournaments between players, and boards that anybody can check."""
