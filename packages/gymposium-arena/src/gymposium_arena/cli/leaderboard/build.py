"""The command `gymposium leaderboard build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import print_note
from gymposium.util.visible import quantity
from gymposium.util.writable import check_writable


def build_site(
    board: Annotated[Path, typer.Argument(metavar="BOARD", help="The board's folder, made by leaderboard run")],
    site: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", file_okay=False, help="Write the site to this folder; default: BOARD/site"
        ),
    ] = None,
    replays: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Make pages for this many matches per lineup: forfeits, upsets and other losses in turn; default: 6",
        ),
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(
            "--earlier",
            metavar="FILE",
            help="Compare with an earlier results.json, whose file name is its version; repeatable, oldest first",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Build a static website of a board.

    The site shows ratings with intervals, a page for each game, player and pairing, and matches to step through. It
    includes the board to download and verify. The pages work on any web server, from disk, and without scripts. Rate
    the board first, since the site shows its results.json. Equal boards give equal bytes. An existing site is replaced.

    Examples:

        gymposium leaderboard build boards/quick
        gymposium leaderboard build boards/quick --out public --replays 20
        python -m http.server --directory boards/quick/site
    """
    from gymposium_arena.board import SITE, Board
    from gymposium_arena.site.build import REPLAYS, write_site

    out = check_writable("--out", site or board / SITE)
    built = write_site(Board(board), out, replays=REPLAYS if replays is None else replays, earlier=earlier or ())
    if as_json:
        print_json({"index": str(out / "index.html"), "matches": len(built.pages)})
        return
    print_note(f"Written: {out / 'index.html'}, with {quantity(len(built.pages), 'match')} to step through")
