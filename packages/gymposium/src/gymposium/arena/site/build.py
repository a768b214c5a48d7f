"""Build a site: every page, the pages of some matches, and the board itself to be taken away."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gymposium.arena.board import Board
from gymposium.arena.results.file import read_results, results_file
from gymposium.arena.site import pages
from gymposium.arena.site.choice import Expected, choose
from gymposium.arena.site.downloads import ARCHIVE, FORMAT, INDEX, copy_board, write_index
from gymposium.arena.site.played import read_played
from gymposium.arena.site.site import TABS, Site
from gymposium.errors import BadOption
from gymposium.records import Problem, Record
from gymposium.viewer.pages import write_page
from gymposium.viewer.replays.match_page import export_matches, path_of

REPLAYS = 6
"""Matches of each lineup that get a page of their own."""

_STATIC = Path(__file__).parent / "static"


def build(board: Board, out: Path, *, replays: int = REPLAYS) -> Site:
    """Write the site of a board into `out`, in place of one that stands there. It is there whole or not at all.

    Raises `BadOption` where something else stands there, `BadRecord` where results are missing or of other matches."""
    if out.exists() and not _is_site(out):
        raise BadOption(f"--out {out}: something else stands there. Give a folder that is empty or not there yet.")
    results, played = read_results(results_file(board)), read_played(board)
    played.check(results)
    expected, entries = Expected(results), {entry.player: entry for entry in board.entries()}
    chosen = choose([*entries], played.lineups, expected, replays)
    site = Site(
        board,
        results,
        entries,
        played,
        expected,
        {match: path_of(match) for match in chosen},
    )
    part = out.with_name(f".{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    _write(site, part)
    shutil.rmtree(out, ignore_errors=True)
    part.replace(out)
    return site


def _write(site: Site, out: Path) -> None:
    around = _around(site)
    export_matches(_records(site), out, tabs=TABS, around=lambda record: around[record.id])
    shutil.copytree(_STATIC, out / "static", dirs_exist_ok=True)
    files = copy_board(site.board, out)
    write_index(site.board, out, files, site.pages)
    for path, html in _pages(site):
        write_page(out, path, html)
    write_page(out, "data.html", pages.data_page(site, files, (out / ARCHIVE).stat().st_size))


def _pages(site: Site) -> Iterator[tuple[str, str]]:
    yield "index.html", pages.index_page(site)
    yield "games.html", pages.games_page(site)
    yield "players.html", pages.players_page(site)
    yield "how.html", pages.how_page(site)
    for game in site.results.games:
        yield site.game_path(game.game), pages.game_page(site, game)
    for player in site.entries:
        yield site.player_path(player), pages.player_page(site, player)
    for one, other in pages.pairings(site):
        yield site.pairing_path(one, other), pages.pairing_page(site, one, other)


def _records(site: Site) -> Iterator[Record]:
    """The records of the matches that were chosen."""
    for _, record in site.board.records():
        if not isinstance(record, Problem) and not record.ending.broke_off and record.id in site.pages:
            yield record


def _around(site: Site) -> Mapping[str, Mapping[str, Any]]:
    """What the page of each match says of those around it."""
    found = {}
    for lineup in site.played.lineups:
        shown = [match for match in lineup.matches if match.id in site.pages]
        for place, match in enumerate(shown):
            before, after = shown[place - 1 : place], shown[place + 1 : place + 2]
            found[match.id] = {
                "list": f"{site.lineup_path(lineup)}#{site.anchor(lineup.game)}",
                "before": site.pages[before[0].id] if before else None,
                "after": site.pages[after[0].id] if after else None,
                "place": f"{place + 1} of {len(shown)} with a page, of {len(lineup.matches)} matches",
            }
    return found


def _is_site(out: Path) -> bool:
    """Whether a folder may be replaced: an empty one, or a site."""
    if not out.is_dir():
        return False
    try:
        return not any(out.iterdir()) or json.loads((out / INDEX).read_bytes())["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        return False
