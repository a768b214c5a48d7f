"""The match pages: the list, each match step by step, and two matches side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from gymposium.errors import BadOption, BadRecord
from gymposium.http.numbers import DIGITS, parse_number
from gymposium.util.visible import quantity, visible
from gymposium_viewer.pages import Tab, extract_main, pack_script, quote_path, write_page
from gymposium_viewer.part import Card, Viewer
from gymposium_viewer.replays.curve import draw_curve
from gymposium_viewer.replays.index import MatchIndex
from gymposium_viewer.replays.match_filter import ENDINGS, FAILED_REPLIES, ORDERS, MatchFilter, list_facts
from gymposium_viewer.replays.match_page import render_match
from gymposium_viewer.replays.rows import Row
from gymposium_viewer.replays.story import Story, build_story

PAGE_SIZE = 100
"""Number of matches per page of the list."""

MAX_FILE_SIZE = 1_000_000
"""Number of characters, before compression, that complete an export file."""


class ReplaysPart:
    """The viewer part that shows matches."""

    tabs: Sequence[Tab] = (Tab("Matches", "matches.html"),)

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._index = MatchIndex(viewer.directory)
        self._numbers: dict[int, int] = {}
        viewer.link_to_match = self._link_to_match
        viewer.link_to_line = self._link_to_line

    def cards(self) -> Sequence[Card]:
        self._index.refresh()
        rows, problems, foreign = self._index.rows, self._index.problems, self._index.foreign
        if not rows and not problems and not foreign:
            return []
        games, players = self._index.count_matches()
        names = ", ".join([name.partition("?")[0] for name, _ in players.most_common(4)])
        lines = [
            f"{quantity(len(rows), 'match')} of {quantity(len(games), 'game')}",
            names + (" …" if len(players) > 4 else ""),
        ]
        if problems:
            lines.append(quantity(len(problems), "line that is not a match", "lines that are not matches"))
        if foreign and not rows:  # perhaps records of another version: the list gives the reason for each file
            lines.append(quantity(len(foreign), "other file"))
        return [Card("Matches", "matches.html", [line for line in lines if line])]

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/matches.html", self._get_list),
            Route("/match", self._redirect_to_match),
            Route("/matches/{file:path}/{line:number}.html", self._get_match),
            Route("/matches/{file:path}/{line:number}.json", self._get_line),
            Route("/compare.html", self._get_comparison),
        ]

    def export(self, out: Path) -> None:
        """Write the list, one page that can show any match, and their data."""
        self._index.refresh()
        self._index.parse_all()
        rows = [row for row in self._index.rows if self._viewer.is_exported(row.file, row.id)]
        self._numbers = {id(row): number for number, row in enumerate(rows)}
        write_page(out, "matches.html", self._render_list(MatchFilter(), rows, 1))
        if not rows:
            return
        write_page(out, "matches/list.js", pack_script(self._make_list_data(rows)))
        starts, pages, size = [0], list[str](), 0
        for at in range(len(rows)):
            pages.append(extract_main(self._render_match(rows, at, "")))
            size += len(pages[-1])
            if size >= MAX_FILE_SIZE or at == len(rows) - 1:
                write_page(out, f"matches/{len(starts) - 1}.js", pack_script(pages))
                starts.append(at + 1)
                pages, size = [], 0
        write_page(out, "match.html", self._viewer.page("replays/exported.html", "match.html", starts=starts))

    def _make_list_data(self, rows: list[Row]) -> Mapping[str, Any]:
        """Return the data for an exported list: each row with its facts, and each order as a list of row indices."""
        shown = self._viewer.page("replays/rows.html", "matches.html", rows=rows, link=self._link_to_row)
        return {
            "rows": [
                {
                    "html": f"{html.strip()}</tr>",
                    "id": visible(row.id),
                    "facts": sorted(list_facts(row, self._index.long_threshold)),
                }
                for row, html in zip(rows, shown.split("</tr>")[:-1], strict=True)
            ],
            "orders": {name: _sort_indices(rows, key) for name, (_, key) in ORDERS.items() if key is not None},
        }

    # -- the list

    def _get_list(self, request: Request) -> Response:
        self._index.refresh()
        match_filter = MatchFilter.from_query(request.query_params)
        rows = self._index.select(match_filter)
        if (page := parse_number(request.query_params.get("page", "1"))) < 0:
            raise BadOption(
                f"Invalid page {request.query_params.get('page', '')[:80]!r}. Use a number with at most {DIGITS} "
                "digits."
            )
        page = min(max(page, 1), _count_pages(rows, PAGE_SIZE))
        return HTMLResponse(self._render_list(match_filter, rows, page))

    def _render_list(self, match_filter: MatchFilter, rows: list[Row], page: int) -> str:
        """Render one page of the list of `rows`."""
        index, query = self._index, match_filter.query()
        games, players = index.count_matches()
        return self._viewer.page(
            "replays/list.html",
            "matches.html",
            match_filter=match_filter,
            link=lambda row: self._link_to_row(row) + query,
            rows=rows[(page - 1) * PAGE_SIZE : page * PAGE_SIZE],
            found=len(rows),
            all=len(index.rows),
            page=page,
            pages=_count_pages(rows, PAGE_SIZE),
            page_path=lambda number: f"matches.html{match_filter.query(page=number)}",
            games=dict(sorted(games.items())),
            players=dict(sorted(players.items())),
            endings=ENDINGS,
            failures=FAILED_REPLIES,
            orders=ORDERS,
            problems=index.problems,
            foreign=index.foreign,
        )

    # -- a match

    def _get_match(self, request: Request) -> Response:
        row = self._find_row(**request.path_params)
        match_filter = MatchFilter.from_query(request.query_params)
        rows = self._index.select(match_filter)
        if not any(other is row for other in rows):  # the match does not pass the address's filter
            match_filter = MatchFilter()
            rows = self._index.select(match_filter)
        at = next(place for place, other in enumerate(rows) if other is row)
        return HTMLResponse(self._render_match(rows, at, match_filter.query()))

    def _render_match(self, rows: list[Row], at: int, query: str) -> str:
        """Render the page of the match `rows[at]`.

        `query` is the query string of the filter that selected the rows; empty for all rows."""
        row, live = rows[at], self._viewer.live
        before, after = (
            self._link_to_row(rows[place]) + query if 0 <= place < len(rows) else None for place in (at - 1, at + 1)
        )
        record = self._index.read_record(row)
        curve, unreadable = None, ""
        try:
            curve = draw_curve(record, self._index.file_path(row), self._viewer.directory)
        except BadRecord as error:
            unreadable = str(error)
        return render_match(
            build_story(record),
            row.path if live else "match.html",
            curve=curve,
            unreadable=unreadable,
            tabs=[tab for part in self._viewer.parts for tab in part.tabs],
            live=live,
            list=f"matches.html{query}",
            place=f"{at + 1:,} of {len(rows):,}{' that are listed' if query else ''}",
            before=before,
            after=after,
            where=_format_place(row),
            same_deal=[other for other in self._index.find_same_deal(row) if live or id(other) in self._numbers],
            link=self._link_to_row,
            compare=lambda other: (
                f"compare.html?match={quote_path(_format_place(row))}&match={quote_path(_format_place(other))}"
            ),
            tokens=self._viewer.link_to_tokens(row.file, row.id),
            raw=quote_path(row.path.removesuffix("html") + "json") if live else None,
        )

    def _get_line(self, request: Request) -> Response:
        row = self._find_row(**request.path_params)
        headers = {"Content-Disposition": f'attachment; filename="match-{row.line}.json"'}
        return Response(self._index.read_line(row), media_type="application/json", headers=headers)

    def _redirect_to_match(self, request: Request) -> Response:
        path = self._link_to_match(request.query_params.get("id", ""))
        if path is None:
            raise HTTPException(
                404,
                f"No match has the id {request.query_params.get('id', '')[:80]!r}. Choose one from the list of "
                "matches.",
            )
        return RedirectResponse(path, status_code=303)

    def _link_to_match(self, match_id: str) -> str | None:
        self._index.refresh()
        row = self._index.find_by_id(match_id)
        return None if row is None else self._find_path(row)

    def _link_to_line(self, file: str, line: int) -> str | None:
        row = self._index.find_row(file, line)
        return None if row is None else self._find_path(row)

    def _find_path(self, row: Row) -> str | None:
        """Return the path of a match's page; None if the export omits the match."""
        return self._link_to_row(row) if self._viewer.live or id(row) in self._numbers else None

    def _link_to_row(self, row: Row) -> str:
        return quote_path(row.path) if self._viewer.live else f"match.html?match={self._numbers[id(row)]}"

    def _find_row(self, file: str, line: int) -> Row:
        self._index.refresh()
        row = self._index.find_row(file, line)
        if row is None:
            raise HTTPException(404, f"Line {line} of {file} is not a match. Choose one from the list of matches.")
        return row

    # -- two matches

    def _get_comparison(self, request: Request) -> Response:
        places = request.query_params.getlist("match")
        if len(places) != 2:
            raise BadOption(f"{quantity(len(places), 'match')} selected. Select two in the list to compare them.")
        rows = []
        for place in places:
            file, _, line = place.rpartition(":")
            if parse_number(line) < 0:
                raise BadOption(f"Invalid match {place[:80]!r}. Use FILE:LINE, where LINE has at most {DIGITS} digits.")
            rows.append(self._find_row(file, parse_number(line)))
        stories = [build_story(self._index.read_record(row)) for row in rows]
        return HTMLResponse(
            self._viewer.page(
                "replays/compare.html",
                "compare.html",
                sides=[(mark, story, row.path) for mark, story, row in zip(("a-", "b-"), stories, rows)],
                longer=max(stories, key=lambda story: len(story.steps)),
                parted=_find_divergence(*stories),
                same_deal=len({(row.lineup.game, row.seed) for row in rows}) == 1,
            )
        )


def _find_divergence(one: Story, other: Story) -> int | None:
    """Return the first step where two matches differ, or None."""
    courses = [
        [(step.chance, [(act.seat, act.move) for act in step.acts]) for step in story.steps] for story in (one, other)
    ]
    for step, (happened, elsewhere) in enumerate(zip(*courses)):
        if happened != elsewhere:
            return step
    shorter, longer = sorted(map(len, courses))
    return None if shorter == longer else shorter


def _count_pages(rows: list[Row], size: int) -> int:
    """Return the number of pages of the list, at least 1."""
    return max(1, -(-len(rows) // size))


def _sort_indices(rows: Sequence[Row], key: Callable[[Row], Any]) -> list[int]:
    """Return the row indices sorted by an order."""
    return sorted(range(len(rows)), key=lambda at: key(rows[at]))


def _format_place(row: Row) -> str:
    return f"{row.file}:{row.line}"
