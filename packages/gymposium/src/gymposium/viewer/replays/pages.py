"""The pages of matches: the list, each match step by step, and two matches side by side."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from gymposium.errors import BadOption, BadRecord
from gymposium.viewer.numbers import DIGITS, number
from gymposium.viewer.pages import Tab, in_url, write_page
from gymposium.viewer.part import Card, Viewer
from gymposium.viewer.replays.curve import curve_of
from gymposium.viewer.replays.index import Index
from gymposium.viewer.replays.match_filter import ENDED, FAILED, SORTED, MatchFilter, facts_of
from gymposium.viewer.replays.match_page import match_page
from gymposium.viewer.replays.rows import Row
from gymposium.viewer.replays.story import Story, build_story

A_PAGE, A_FILE = 100, 5000
"""Number of matches on one page of the list: as served, and as a file, whose own script filters it."""


class Replays:
    """The part of the viewer that shows matches."""

    tabs: Sequence[Tab] = (Tab("Matches", "matches.html"),)

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._index = Index(viewer.directory)
        viewer.link_to_match = self._link

    def cards(self) -> Sequence[Card]:
        self._index.refresh()
        rows, problems, foreign = self._index.rows, self._index.problems, self._index.foreign
        if not rows and not problems and not foreign:
            return []
        games, players = self._index.counts()
        names = ", ".join([name.partition("?")[0] for name, _ in players.most_common(4)])
        lines = [
            f"{_number(rows, 'match', 'matches')} of {_number(games, 'game', 'games')}",
            names + (" …" if len(players) > 4 else ""),
        ]
        if problems:
            lines.append(_number(problems, "line that is not a match", "lines that are not matches"))
        if foreign and not rows:  # perhaps records of another version: the list gives the reason for each file
            lines.append(f"{_number(foreign, 'file holds', 'files hold')} something else")
        return [Card("Matches", "matches.html", [line for line in lines if line])]

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/matches.html", self._list),
            Route("/match", self._by_id),
            Route("/matches/{file:path}/{line:number}.html", self._match),
            Route("/matches/{file:path}/{line:number}.json", self._line),
            Route("/compare.html", self._compare),
        ]

    def export(self, out: Path) -> None:
        self._index.refresh()
        rows = [row for row in self._index.rows if self._viewer.exports(row.file, row.id)]
        for page in range(1, _pages(rows, A_FILE) + 1):
            write_page(out, _file_of(page), self._list_page(_file_of(page), MatchFilter(), rows, page, A_FILE))
        for at, row in enumerate(rows):
            write_page(out, row.path, self._match_page(rows, at, ""))

    # -- the list

    def _list(self, request: Request) -> Response:
        self._index.refresh()
        match_filter = MatchFilter.of(request.query_params)
        rows = self._index.select(match_filter)
        if (page := number(request.query_params.get("page", "1"))) < 0:
            raise BadOption(f"page: write a number of at most {DIGITS} digits.")
        page = min(max(page, 1), _pages(rows, A_PAGE))
        return HTMLResponse(self._list_page("matches.html", match_filter, rows, page, A_PAGE))

    def _list_page(self, path: str, match_filter: MatchFilter, rows: list[Row], page: int, size: int) -> str:
        """One page of the list of `rows`, which holds `size` of them."""
        index, live = self._index, self._viewer.live
        games, players = index.counts()
        return self._viewer.page(
            "replays/list.html",
            path,
            match_filter=match_filter,
            query=match_filter.query(),
            rows=rows[(page - 1) * size : page * size],
            found=len(rows),
            all=len(index.rows),
            page=page,
            pages=_pages(rows, size),
            page_path=lambda number: f"matches.html{match_filter.query(page=number)}" if live else _file_of(number),
            games=dict(sorted(games.items())),
            players=dict(sorted(players.items())),
            endings=ENDED,
            failures=FAILED,
            orders=SORTED,
            problems=index.problems,
            foreign=index.foreign,
            facts=lambda row: facts_of(row, index.long),
        )

    # -- a match

    def _match(self, request: Request) -> Response:
        row = self._row(**request.path_params)
        match_filter = MatchFilter.of(request.query_params)
        rows = self._index.select(match_filter)
        if not any(other is row for other in rows):  # the address has a filter that the match does not pass
            match_filter = MatchFilter()
            rows = self._index.select(match_filter)
        at = next(place for place, other in enumerate(rows) if other is row)
        return HTMLResponse(self._match_page(rows, at, match_filter.query()))

    def _match_page(self, rows: list[Row], at: int, query: str) -> str:
        """The page of the match `rows[at]`. `query` is the filter that selected the rows; empty for all rows."""
        row, live = rows[at], self._viewer.live
        before, after = (
            in_url(rows[place].path) + query if 0 <= place < len(rows) else None for place in (at - 1, at + 1)
        )
        record = self._index.record(row)
        curve, unreadable = None, ""
        try:
            curve = curve_of(record, self._index.path(row), self._viewer.directory)
        except BadRecord as error:
            unreadable = str(error)
        return match_page(
            build_story(record),
            row.path,
            curve=curve,
            unreadable=unreadable,
            tabs=[tab for part in self._viewer.parts for tab in part.tabs],
            live=live,
            list=f"matches.html{query}" if live else _file_of(at // A_FILE + 1),
            place=f"{at + 1:,} of {len(rows):,}{' that are listed' if query else ''}",
            before=before,
            after=after,
            where=_place_of(row),
            same_deal=self._index.same_deal(row),
            compare=lambda other: f"compare.html?match={in_url(_place_of(row))}&match={in_url(_place_of(other))}",
            tokens=self._viewer.link_to_tokens(row.file, row.id),
            raw=in_url(row.path.removesuffix("html") + "json") if live else None,
        )

    def _line(self, request: Request) -> Response:
        row = self._row(**request.path_params)
        headers = {"Content-Disposition": f'attachment; filename="match-{row.line}.json"'}
        return Response(self._index.line(row), media_type="application/json", headers=headers)

    def _by_id(self, request: Request) -> Response:
        path = self._link(request.query_params.get("id", ""))
        if path is None:
            raise HTTPException(404, "No match has this id.")
        return RedirectResponse(path, status_code=303)

    def _link(self, match_id: str) -> str | None:
        self._index.refresh()
        row = self._index.by_id(match_id)
        return None if row is None else in_url(row.path)

    def _row(self, file: str, line: int) -> Row:
        self._index.refresh()
        row = self._index.row(file, line)
        if row is None:
            raise HTTPException(404, f"Line {line} of {file} is not a match.")
        return row

    # -- two matches

    def _compare(self, request: Request) -> Response:
        places = request.query_params.getlist("match")
        if len(places) != 2:
            raise BadOption(f"Two matches can be set side by side, not {len(places)}: tick two in the list.")
        rows = []
        for place in places:
            file, _, line = place.rpartition(":")
            if number(line) < 0:
                raise BadOption(f"match: write FILE:LINE, the line as a number of at most {DIGITS} digits.")
            rows.append(self._row(file, number(line)))
        stories = [build_story(self._index.record(row)) for row in rows]
        return HTMLResponse(
            self._viewer.page(
                "replays/compare.html",
                "compare.html",
                sides=[(mark, story, row.path) for mark, story, row in zip(("a-", "b-"), stories, rows)],
                longer=max(stories, key=lambda story: len(story.steps)),
                parted=_parted(*stories),
                same_deal=len({(row.lineup.game, row.seed) for row in rows}) == 1,
            )
        )


def _parted(one: Story, other: Story) -> int | None:
    """The first step at which two matches differ, or None."""
    courses = [
        [(step.chance, [(act.seat, act.move) for act in step.acts]) for step in story.steps] for story in (one, other)
    ]
    for step, (happened, elsewhere) in enumerate(zip(*courses)):
        if happened != elsewhere:
            return step
    shorter, longer = sorted(map(len, courses))
    return None if shorter == longer else shorter


def _pages(rows: list[Row], size: int) -> int:
    """The number of pages of the list, at least 1."""
    return max(1, -(-len(rows) // size))


def _file_of(page: int) -> str:
    return "matches.html" if page == 1 else f"matches-{page}.html"


def _place_of(row: Row) -> str:
    return f"{row.file}:{row.line}"


def _number(things: Collection[object], one: str, many: str) -> str:
    return f"{len(things):,} {one if len(things) == 1 else many}"
