"""The pages of matches, as a part of the viewer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from gymposium.errors import BadOption
from gymposium.viewer.numbers import DIGITS, number
from gymposium.viewer.pages import Tab, in_url, write_page
from gymposium.viewer.part import Card, Viewer
from gymposium.viewer.replays.index import Index
from gymposium.viewer.replays.match_page import match_page
from gymposium.viewer.replays.rows import Row
from gymposium.viewer.replays.story import Story, build_story
from gymposium.viewer.replays.wanted import ENDED, FAILED, SORTED, MatchFilter, facts_of

A_PAGE, A_FILE = 100, 5000
"""Matches on a page of the list: of a server, and as a file, which is filtered by a script in it."""


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
        lines = [f"{_number(rows, 'match', 'matches')} of {_number(games, 'game', 'games')}"]
        lines.append(
            ", ".join([name.partition("?")[0] for name, _ in players.most_common(4)])
            + (" …" if len(players) > 4 else "")
        )
        if problems:
            lines.append(f"{_number(problems, 'line that is no match', 'lines that are no matches')}")
        if foreign and not rows:  # perhaps of another version: the list says why each was passed over
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
        rows, wanted = [row for row in self._index.rows if self._viewer.exports(row.file, row.id)], MatchFilter()
        pages = max(1, -(-len(rows) // A_FILE))
        for page in range(1, pages + 1):
            some = rows[(page - 1) * A_FILE : page * A_FILE]
            html = self._list_page(_file_of(page), wanted, rows, some, page, pages)
            write_page(out, _file_of(page), html)
        for at, row in enumerate(rows):
            around = [rows[place].path if 0 <= place < len(rows) else None for place in (at - 1, at + 1)]
            write_page(out, row.path, self._match_page(row, rows, at, "", around))

    # -- the list

    def _list(self, request: Request) -> Response:
        self._index.refresh()
        wanted = MatchFilter.of(request.query_params)
        rows = self._index.select(wanted)
        pages = max(1, -(-len(rows) // A_PAGE))
        if (page := number(request.query_params.get("page", "1"))) < 0:
            raise BadOption(f"page: write a number of at most {DIGITS} digits.")
        page = min(max(page, 1), pages)
        some = rows[(page - 1) * A_PAGE : page * A_PAGE]
        return HTMLResponse(self._list_page("matches.html", wanted, rows, some, page, pages))

    def _list_page(
        self, path: str, wanted: MatchFilter, found: list[Row], rows: list[Row], page: int, pages: int
    ) -> str:
        index, live = self._index, self._viewer.live
        games, players = index.counts()
        return self._viewer.page(
            "replays/list.html",
            path,
            wanted=wanted,
            query=wanted.query(),
            rows=rows,
            found=len(found),
            all=len(index.rows),
            page=page,
            pages=pages,
            page_path=lambda number: f"matches.html{wanted.query(page=number)}" if live else _file_of(number),
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
        row = self._row(request)
        wanted = MatchFilter.of(request.query_params)
        rows = self._index.select(wanted)
        if not any(one is row for one in rows):  # the address of a match, with a filter that does not hold of it
            wanted = MatchFilter()
            rows = self._index.select(wanted)
        at = next(place for place, one in enumerate(rows) if one is row)
        around = [rows[place].path if 0 <= place < len(rows) else None for place in (at - 1, at + 1)]
        return HTMLResponse(self._match_page(row, rows, at, wanted.query(), around))

    def _match_page(self, row: Row, rows: list[Row], at: int, query: str, around: Sequence[str | None]) -> str:
        live = self._viewer.live
        before, after = (None if path is None else in_url(path) + query for path in around)
        return match_page(
            build_story(self._index.record(row)),
            row.path,
            tabs=[tab for part in self._viewer.parts for tab in part.tabs],
            live=live,
            list=f"matches.html{query}" if live else _file_of(at // A_FILE + 1),
            place=f"{at + 1:,} of {len(rows):,}{' that are listed' if query else ''}",
            before=before,
            after=after,
            where=f"{row.file}:{row.line}",
            same_deal=self._index.same_deal(row),
            compare=lambda other: f"compare.html?match={in_url(_key(row))}&match={in_url(_key(other))}",
            raw=in_url(row.path.removesuffix("html") + "json") if live else None,
        )

    def _line(self, request: Request) -> Response:
        row = self._row(request)
        name = f"match-{row.line}.json"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
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

    def _row(self, request: Request) -> Row:
        return self._find(request.path_params["file"], request.path_params["line"])

    def _find(self, file: str, line: int) -> Row:
        self._index.refresh()
        row = self._index.row(file, line)
        if row is None:
            raise HTTPException(404, f"Line {line} of {file} is no match.")
        return row

    # -- two matches

    def _compare(self, request: Request) -> Response:
        keys = request.query_params.getlist("match")
        if len(keys) != 2:
            raise BadOption(f"Two matches can be set side by side, not {len(keys)}: tick two in the list.")
        rows = []
        for key in keys:
            file, _, line = key.rpartition(":")
            if (place := number(line)) < 0:
                raise BadOption(f"match: write FILE:LINE, the line as a number of at most {DIGITS} digits.")
            rows.append(self._find(file, place))
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
    """The first step at which not the same happened."""
    told = [
        [(step.chance, [(act.seat, act.move) for act in step.acts]) for step in story.steps] for story in (one, other)
    ]
    for step, (mine, theirs) in enumerate(zip(*told)):
        if mine != theirs:
            return step
    lengths = sorted(map(len, told))
    return None if lengths[0] == lengths[1] else lengths[0]


def _file_of(page: int) -> str:
    return "matches.html" if page == 1 else f"matches-{page}.html"


def _key(row: Row) -> str:
    return f"{row.file}:{row.line}"


def _number(things: Collection[object], one: str, many: str) -> str:
    return f"{len(things):,} {one if len(things) == 1 else many}"
