"""`gymposium leaderboard build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import note
from gymposium.util.visible import plural
from gymposium.util.writable import check_writable


def build_site(
    board: Annotated[Path, typer.Argument(metavar="BOARD", help="The directory of a board, made by leaderboard run.")],
    site: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", file_okay=False, help="The directory of the site; BOARD/site by default."),
    ] = None,
    replays: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of matches of each lineup that get a page, move by move: forfeits, upsets and other losses in "
            "turn. 6 by default. The records have all matches.",
        ),
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(
            "--earlier",
            metavar="FILE",
            help="An earlier results.json of the board, to show how figures changed; may be repeated, the oldest "
            "first. The file's name is that of the version.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Build a website of a board: static pages for any web server, or to open from disk.

    The site has the ratings with their intervals, a page for each game, player and pairing, matches to step through,
    and the board itself to download and verify. Scripts sort tables and step through matches; all can be read without
    them. Everything is made from the board's directory and its results.json, so rate the board first. Equal boards give
    equal bytes. An existing site is replaced.

    Examples:

        gymposium leaderboard build boards/quick
        gymposium leaderboard build boards/quick --out public --replays 20
        python -m http.server --directory boards/quick/site
    """
    from gymposium_arena.board import Board
    from gymposium_arena.site.build import REPLAYS, build

    out = check_writable("--out", site or board / "site")
    built = build(Board(board), out, replays=REPLAYS if replays is None else replays, earlier=earlier or ())
    if as_json:
        print_json({"index": str(out / "index.html"), "matches": len(built.pages)})
        return
    note(f"Written: {out / 'index.html'}, with {len(built.pages)} {plural(len(built.pages), 'match')} to step through")
