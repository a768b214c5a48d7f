"""Build a site: pages of the board and of selected matches, and a copy of the board to download."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption
from gymposium.records import Record
from gymposium.util.durable import make_staging_path, remove_staging
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import quantity
from gymposium_arena.board import Board
from gymposium_arena.results.file import read_results, results_file
from gymposium_arena.site.choice import ExpectedPoints, choose_matches
from gymposium_arena.site.downloads import ARCHIVE, FORMAT, INDEX, copy_board, write_index
from gymposium_arena.site.figures import read_history
from gymposium_arena.site.pages import render_pages
from gymposium_arena.site.played import read_board_matches
from gymposium_arena.site.site import TABS, Site
from gymposium_viewer.pages import write_page
from gymposium_viewer.replays.curve import draw_curve
from gymposium_viewer.replays.match_page import export_matches, make_path

REPLAYS = 6
"""Default number of match pages per lineup."""

_STATIC = Path(__file__).parent / "static"


def write_site(board: Board, out: Path, *, replays: int = REPLAYS, earlier: Sequence[Path] = ()) -> Site:
    """Write a board's site to the folder `out` atomically, replacing an existing site.

    `replays` is the number of match pages per lineup. `earlier` lists files of earlier results, oldest first.

    Raises `BadOption` if `out` holds anything else, and `BadRecord` if the results are missing or outdated."""
    if out.is_symlink():
        raise BadOption(f"--out {out}: this is a symbolic link. Give the folder itself.")
    if out.exists() and not _is_site(out):
        raise BadOption(f"--out {out}: this exists and is not a site. Give an empty or new folder.")
    results, played = read_results(results_file(board)), read_board_matches(board)
    played.check(results, board)
    versions = read_history(earlier, results)
    expected, entries = ExpectedPoints(results), {entry.player: entry for entry in board.entries()}
    chosen = choose_matches([*entries], played.lineups, expected, replays)
    pages = {match: make_path(match) for match in chosen}
    site = Site(board, results, entries, played, expected, pages, versions)
    out.parent.mkdir(parents=True, exist_ok=True)
    remove_staging(out.parent, f"{out.name}.")
    part = make_staging_path(out)
    part.mkdir()
    try:
        _write_pages(site, part)
        shutil.rmtree(out, ignore_errors=True)
        part.replace(out)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return site


def _write_pages(site: Site, out: Path) -> None:
    around, source_files = _make_links(site), dict[str, Path]()

    def make_page(record: Record) -> Mapping[str, Any]:
        return {
            **around[record.id],
            "players": {player: site.player_path(player) for player in record.players},
            "curve": draw_curve(record, source_files[record.id], site.board.path),
        }

    export_matches(_find_records(site, source_files), out, tabs=TABS, labels=site.names, around=make_page)
    shutil.copytree(_STATIC, out / "static", dirs_exist_ok=True)
    files = copy_board(site.board, out)
    write_index(site.board, out, files, site.pages)
    for path, html in render_pages(site):
        write_page(out, path, html)
    archive = (out / ARCHIVE).stat().st_size
    write_page(out, "data.html", site.render("data.html", "data.html", files=files, archive=archive))


def _find_records(site: Site, source_files: dict[str, Path]) -> Iterator[Record]:
    """Yield the records of matches with a page. Stores each record's file in `source_files`, by match id."""
    for file, record in site.board.records():
        if isinstance(record, Record) and not record.ending.broke_off and record.id in site.pages:
            source_files[record.id] = file
            yield record


def _make_links(site: Site) -> Mapping[str, Mapping[str, Any]]:
    """Return the links from each match page to its neighbors and its list of matches, by match id."""
    links = {}
    for lineup in site.played.lineups:
        shown = [match for match in lineup.matches if match.id in site.pages]
        for place, match in enumerate(shown):
            before, after = shown[place - 1 : place], shown[place + 1 : place + 2]
            links[match.id] = {
                "list": f"{site.lineup_path(lineup)}#{site.anchor(lineup.game)}",
                "before": site.pages[before[0].id] if before else None,
                "after": site.pages[after[0].id] if after else None,
                "place": f"{place + 1} of {len(shown)} with a page, of {quantity(len(lineup.matches), 'match')}",
            }
    return links


def _is_site(out: Path) -> bool:
    """Return whether a path is an empty folder or a site, and may be replaced."""
    if not out.is_dir():
        return False
    try:
        return not any(out.iterdir()) or parse_strict_json(read_plain_text(out / INDEX))["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        return False
