"""The pages for choosing and playing games.

A match page is made from its `TableState`, which holds only what the person's seat may see. Every change is a POST
request with a token that only our own pages have; a GET request starts nothing and loads no code.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from gymposium.errors import GymposiumError
from gymposium.http.numbers import parse_number
from gymposium.plugins.host import host
from gymposium_viewer.pages import Tab
from gymposium_viewer.part import Card, Viewer
from gymposium_viewer.playing import games
from gymposium_viewer.playing.choice import COSTS, Choice
from gymposium_viewer.playing.forms import Form
from gymposium_viewer.playing.store import FILE, IDLE, MOST, Gone, MatchStore
from gymposium_viewer.playing.table import BrowserTable

LIST, NEW = "play.html", "play/new.html"
PATIENCE = 0.8
"""Seconds that a response waits for the opponents, so that the next page shows fast answers."""
LOOKS, BEATS = 0.2, 15.0
"""Seconds between two checks of an awaited match, and between two comments on a silent connection."""
BUTTONS = 400
"""Maximum number of moves with a button; others can be typed."""
NUMBERED = 30
"""Maximum number of legal moves that can be typed by number."""


class Playing:
    """The viewer part for playing."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        # exported pages cannot play, and a single file has no folder for records
        self._open = viewer.live and viewer.directory.is_dir()
        self.tabs: Sequence[Tab] = [Tab("Play", LIST)] if self._open else []
        self._store = MatchStore(viewer.directory)
        self._token = secrets.token_urlsafe(24)

    def cards(self) -> Sequence[Card]:
        if not self._open:
            return []
        lines = [f"{len(host().games)} games, against any player"]
        if under_way := self._store.under_way():
            lines.append("1 match in progress" if len(under_way) == 1 else f"{len(under_way)} matches in progress")
        return [Card("Play", LIST, lines, invites=True)]

    def routes(self) -> Sequence[BaseRoute]:
        if not self._open:
            return []
        return [
            Route("/play.html", self._list),
            Route("/play/new.html", self._form, methods=["GET"]),
            Route("/play/new.html", self._begin, methods=["POST"]),
            Route("/play/{key}.html", self._match, methods=["GET"]),
            Route("/play/{key}.html", self._act, methods=["POST"]),
            Route("/play/{key}/events", self._events),
        ]

    def export(self, out: Path) -> None:
        """Write nothing: playing needs the server."""

    # -- what to play

    def _list(self, request: Request) -> Response:
        find = request.query_params.get("find", "")
        return HTMLResponse(
            self._viewer.page(
                "playing/games.html",
                LIST,
                games=games.find_games(find),
                searched=games.searched,
                find=find,
                under_way=self._store.under_way(),
            )
        )

    def _form(self, request: Request) -> Response:
        return HTMLResponse(self._form_page(Form.from_query(request.url.query)))

    def _form_page(self, form: Form, problem: str = "") -> str:
        name = form.text("game")
        spec = games.find_spec(name) if name else None
        fewest, most = games.others(spec)
        names = form.all("opponent")
        shown = max(min(most, 1) if spec is None else most, len(names))
        return self._viewer.page(
            "playing/new.html",
            NEW,
            name=name,
            spec=spec,
            fields=games.fields(spec, form) if spec is not None else [],
            fewest=fewest,
            opponents=[*(names or ["random"]), *[""] * shown][:shown],
            seats=most + 1 if spec is not None else None,
            seat=form.text("seat") or "random",
            seed=form.text("seed"),
            costs=COSTS,
            cost=form.text("on_illegal"),
            players=games.opponents(),
            offers=games.offers(spec),
            without=_without_opponent(form),
            problem=problem,
            token=self._token,
        )

    async def _begin(self, request: Request) -> Response:
        form = await self._posted(request)
        return await run_in_threadpool(self._begin_as, form)

    def _begin_as(self, form: Form) -> Response:
        try:
            table = self._store.begin(Choice.from_form(form))
        except GymposiumError as error:
            return HTMLResponse(self._form_page(form, str(error)), 400)
        table.wait(PATIENCE)
        return RedirectResponse(f"{table.id}.html", status_code=303)

    # -- a match

    def _match(self, request: Request) -> Response:
        with self._store.look(request.path_params["key"]) as table:
            if not isinstance(table, BrowserTable):
                return self._no_match(request, table)
            at = parse_number(request.query_params.get("at", ""))
            return HTMLResponse(self._match_page(table, at=at))

    def _no_match(self, request: Request, gone: Gone | None) -> Response:
        if gone is None:
            raise HTTPException(404, "Unknown match. It may belong to an earlier server.")
        path = request.url.path.lstrip("/")
        page = self._viewer.page("playing/gone.html", path, gone=gone, most=MOST, minutes=round(IDLE / 60))
        return HTMLResponse(page, 410)

    def _match_page(self, table: BrowserTable, problem: str = "", typed: str = "", at: int = 0) -> str:
        """Render a match page. `at` shows an earlier decision of the person again, counted from 1."""
        state, legal = table.state, table.state.legal
        before = state.past[: -1 if state.phase == "yours" else None]
        at = at if at in range(1, len(before) + 1) else 0
        record = None if state.end is None else state.end.record
        return self._viewer.page(
            "playing/match.html",
            f"play/{table.id}.html",
            table=table,
            state=state,
            view=before[at - 1] if at else state.view,
            at=at,
            back=len(before),
            lineup=[table.who(seat) for seat in range(table.game.seats)],
            legal=legal[:BUTTONS],
            more=max(0, len(legal) - BUTTONS),
            numbered=_numbered(legal),
            free=state.view is not None and state.view.legal is None,
            problem=problem,
            typed=typed,
            replay=None if record is None else self._viewer.link_to_match(record),
            file=str(FILE),
            token=self._token,
        )

    async def _act(self, request: Request) -> Response:
        form = await self._posted(request)
        with self._store.look(request.path_params["key"]) as table:
            if not isinstance(table, BrowserTable):
                return self._no_match(request, table)
            return await run_in_threadpool(self._act_as, table, form)

    def _act_as(self, table: BrowserTable, form: Form) -> Response:
        if form.get("leave") is not None:
            self._store.leave(table.id)
            return RedirectResponse("../play.html", status_code=303)
        text = _said(form, table)
        problem = table.play(parse_number(form.text("turn")), text)
        if problem:
            return HTMLResponse(self._match_page(table, problem, text), 400)
        table.wait(PATIENCE)
        return RedirectResponse(f"{table.id}.html", status_code=303)

    async def _events(self, request: Request) -> Response:
        key = request.path_params["key"]
        with self._store.look(key) as table:
            if not isinstance(table, BrowserTable):
                return self._no_match(request, table)
        return StreamingResponse(_until_another(self._store, key), media_type="text/event-stream")

    async def _posted(self, request: Request) -> Form:
        form = await Form.posted(request)
        if not secrets.compare_digest((form.get("token") or "").encode(), self._token.encode()):
            raise HTTPException(403, "This form is from an earlier server. Go back, reload the page and try again.")
        return form


def make(viewer: Viewer) -> Playing:
    """Return the viewer part for playing."""
    return Playing(viewer)


def _without_opponent(form: Form) -> str:
    """Return a form's query string without its opponents."""
    return urlencode([(name, value) for name, value in form.fields if name not in ("opponent", "token")])


def _numbered(legal: Sequence[str]) -> bool:
    """Return whether moves can be typed by number: there are few, and none begins with a digit."""
    return len(legal) <= NUMBERED and not any(move[:1].isdecimal() for move in legal)


def _said(form: Form, table: BrowserTable) -> str:
    """Return the answer in a form: the move of the pressed button, or the typed move or number."""
    legal = table.state.legal
    if (button := form.get("choice")) is not None:
        place = parse_number(button)
        return legal[place] if place in range(len(legal)) else ""
    typed = form.get("typed") or ""
    if _numbered(legal) and (nth := parse_number(typed.strip())) in range(1, len(legal) + 1):
        return legal[nth - 1]
    return typed


async def _until_another(store: MatchStore, key: str) -> AsyncIterator[str]:
    """Yield one server-sent event when the match's phase changes or the match is left. It carries no data
    about the match. While a page waits for it, the match counts as busy."""
    with store.look(key) as table:
        if isinstance(table, BrowserTable):
            spoken, begun = time.monotonic(), table.state.phase
            while table.state.waits and table.state.phase == begun and not table.left:
                if time.monotonic() - spoken > BEATS:
                    spoken = time.monotonic()
                    yield ":\n\n"
                await asyncio.sleep(LOOKS)
    yield "event: settled\ndata: {}\n\n"
