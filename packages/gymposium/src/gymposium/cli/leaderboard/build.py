"""`gymposium leaderboard build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymposium.cli.text import note
from gymposium.extras import needs_extra
from gymposium.writable import check_writable


def build_site(
    board: Annotated[Path, typer.Argument(metavar="BOARD", help="A board's directory, as leaderboard run makes it.")],
    site: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", file_okay=False, help="Where the site goes; into BOARD/site by default."),
    ] = None,
    replays: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Matches of each lineup and game that get a page of their own, move by move: forfeits, "
            "upsets and other losses in turn. 6 by default. All others stand in the records.",
        ),
    ] = None,
) -> None:
    """Make a website of a board: static pages that any web server, or a disk, can show.

    The board with its intervals, a page for each game, player and pairing, matches to step through, and the board
    itself to be taken away and checked. The pages run no script, but for those of matches, which can be read without.
    Everything is made from the board's directory, and from its results.json, so rate it first; equal boards give equal
    bytes. A site that stands there is replaced.

    Examples:

        gymposium leaderboard build boards/quick
        gymposium leaderboard build boards/quick --out public --replays 20
        python -m http.server --directory boards/quick/site
    """
    with needs_extra("Building a site", "arena", "jinja2", "markupsafe", "pydantic"):
        from gymposium.arena.board import Board
        from gymposium.arena.site.build import REPLAYS, build

    out = check_writable("--out", site or board / "site")
    built = build(Board(board), out, replays=REPLAYS if replays is None else replays)
    note(f"Written: {out / 'index.html'}, with {len(built.pages)} matches to step through")
