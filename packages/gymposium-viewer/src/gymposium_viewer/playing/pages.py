"""The pages for choosing and playing games.

A match page is rendered from its `TableState`, which holds only what the person's seat may see. All changes need POST
requests with a token from the viewer's own pages. GET requests start no match and load no code.
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
from gymposium_viewer.playing.choice import POLICIES, MatchChoice
from gymposium_viewer.playing.forms import Form
from gymposium_viewer.playing.models import choose_trained_model, find_trained_models
from gymposium_viewer.playing.store import FILE, IDLE_SECONDS, MAX_OPEN, DroppedMatch, MatchStore
from gymposium_viewer.playing.table import BrowserTable

LIST, NEW = "play.html", "play/new.html"
WAIT_SECONDS = 0.8
"""Number of seconds that a response waits for the opponents."""
POLL_SECONDS, HEARTBEAT_SECONDS = 0.2, 15.0
"""Number of seconds between checks of an awaited match, and between comments on a silent connection."""
MAX_BUTTONS = 400
"""Maximum number of moves with a button. Further moves can be typed."""
MAX_NUMBERED = 30
"""Maximum number of legal moves that can be typed by number."""


class PlayPart:
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
        if under_way := self._store.list_open():
            lines.append("1 match in progress" if len(under_way) == 1 else f"{len(under_way)} matches in progress")
        return [Card("Play", LIST, lines, is_interactive=True)]

    def routes(self) -> Sequence[BaseRoute]:
        if not self._open:
            return []
        return [
            Route("/play.html", self._get_list),
            Route("/play/new.html", self._get_form, methods=["GET"]),
            Route("/play/new.html", self._post_form, methods=["POST"]),
            Route("/play/{key}.html", self._get_match, methods=["GET"]),
            Route("/play/{key}.html", self._post_answer, methods=["POST"]),
            Route("/play/{key}/events", self._get_events),
        ]

    def export(self, out: Path) -> None:
        """Write nothing, because playing needs the server."""

    # -- what to play

    def _get_list(self, request: Request) -> Response:
        find = request.query_params.get("find", "")
        return HTMLResponse(
            self._viewer.page(
                "playing/games.html",
                LIST,
                games=games.find_games(find),
                search_text=games.search_text,
                find=find,
                under_way=self._store.list_open(),
            )
        )

    def _get_form(self, request: Request) -> Response:
        return HTMLResponse(self._render_form(Form.from_query(request.url.query)))

    def _render_form(self, form: Form, problem: str = "") -> str:
        name = form.get_text("game")
        spec = games.find_spec(name) if name else None
        fewest, most = games.count_opponents(spec)
        names = form.get_all("opponent")
        shown = max(min(most, 1) if spec is None else most, len(names))
        return self._viewer.page(
            "playing/new.html",
            NEW,
            name=name,
            spec=spec,
            fields=games.make_fields(spec, form) if spec is not None else [],
            fewest=fewest,
            opponents=[*(names or ["random"]), *[""] * shown][:shown],
            seats=most + 1 if spec is not None else None,
            seat=form.get_text("seat") or "random",
            seed=form.get_text("seed"),
            costs=POLICIES,
            cost=form.get_text("on_illegal"),
            players=games.list_opponents(),
            offers=games.suggest_opponents(spec),
            trained=find_trained_models(self._viewer.directory, spec),
            without=_drop_opponents(form),
            problem=problem,
            token=self._token,
        )

    async def _post_form(self, request: Request) -> Response:
        form = await self._read_form(request)
        return await run_in_threadpool(self._begin_match, form)

    def _begin_match(self, form: Form) -> Response:
        try:
            form = choose_trained_model(form, self._viewer.directory)
            table = self._store.begin(MatchChoice.from_form(form))
        except GymposiumError as error:
            return HTMLResponse(self._render_form(form, str(error)), 400)
        table.wait(WAIT_SECONDS)
        return RedirectResponse(f"{table.id}.html", status_code=303)

    # -- a match

    def _get_match(self, request: Request) -> Response:
        with self._store.hold(request.path_params["key"]) as table:
            if not isinstance(table, BrowserTable):
                return self._render_dropped(request, table)
            at = parse_number(request.query_params.get("at", ""))
            return HTMLResponse(self._render_match(table, at=at))

    def _render_dropped(self, request: Request, gone: DroppedMatch | None) -> Response:
        if gone is None:
            raise HTTPException(
                404, f"Unknown match {request.url.path[-80:]!r}. It may belong to an earlier server. Start a new match."
            )
        path = request.url.path.lstrip("/")
        page = self._viewer.page("playing/gone.html", path, gone=gone, most=MAX_OPEN, minutes=round(IDLE_SECONDS / 60))
        return HTMLResponse(page, 410)

    def _render_match(self, table: BrowserTable, problem: str = "", typed: str = "", at: int = 0) -> str:
        """Render a match page. `at` is the number, from 1, of an earlier decision of the person to show again."""
        state, legal = table.state, table.state.legal
        before = state.past_views[: -1 if state.phase == "yours" else None]
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
            lineup=[table.player_name(seat) for seat in range(table.game.seats)],
            legal=legal[:MAX_BUTTONS],
            more=max(0, len(legal) - MAX_BUTTONS),
            numbered=_can_number(legal),
            free=state.view is not None and state.view.legal is None,
            problem=problem,
            typed=typed,
            replay=None if record is None else self._viewer.link_to_match(record),
            file=str(FILE),
            token=self._token,
        )

    async def _post_answer(self, request: Request) -> Response:
        form = await self._read_form(request)
        with self._store.hold(request.path_params["key"]) as table:
            if not isinstance(table, BrowserTable):
                return self._render_dropped(request, table)
            return await run_in_threadpool(self._apply_answer, table, form)

    def _apply_answer(self, table: BrowserTable, form: Form) -> Response:
        if form.get("leave") is not None:
            self._store.leave(table.id)
            return RedirectResponse("../play.html", status_code=303)
        text = _read_answer(form, table)
        problem = table.play(parse_number(form.get_text("turn")), text)
        if problem:
            return HTMLResponse(self._render_match(table, problem, text), 400)
        table.wait(WAIT_SECONDS)
        return RedirectResponse(f"{table.id}.html", status_code=303)

    async def _get_events(self, request: Request) -> Response:
        key = request.path_params["key"]
        with self._store.hold(key) as table:
            if not isinstance(table, BrowserTable):
                return self._render_dropped(request, table)
        return StreamingResponse(_wait_for_change(self._store, key), media_type="text/event-stream")

    async def _read_form(self, request: Request) -> Form:
        form = await Form.from_request(request)
        if not secrets.compare_digest((form.get("token") or "").encode(), self._token.encode()):
            raise HTTPException(403, "This form is from an earlier server. Go back, reload the page and try again.")
        return form


def _drop_opponents(form: Form) -> str:
    """Return a form's query string without the opponents."""
    return urlencode([(name, value) for name, value in form.fields if name not in ("opponent", "token")])


def _can_number(legal: Sequence[str]) -> bool:
    """Return whether moves can be typed by number, because there are at most `MAX_NUMBERED` and none begins with a
    digit."""
    return len(legal) <= MAX_NUMBERED and not any(move[:1].isdecimal() for move in legal)


def _read_answer(form: Form, table: BrowserTable) -> str:
    """Return the answer in a form: the move of the pressed button, or the typed move or number."""
    legal = table.state.legal
    if (button := form.get("choice")) is not None:
        place = parse_number(button)
        return legal[place] if place in range(len(legal)) else ""
    typed = form.get("typed") or ""
    if _can_number(legal) and (nth := parse_number(typed.strip())) in range(1, len(legal) + 1):
        return legal[nth - 1]
    return typed


async def _wait_for_change(store: MatchStore, key: str) -> AsyncIterator[str]:
    """Yield one server-sent event, without data, when the match's phase changes or the match is dropped.

    While it waits, the match counts as busy."""
    with store.hold(key) as table:
        if isinstance(table, BrowserTable):
            spoken, begun = time.monotonic(), table.state.phase
            while table.state.is_waiting and table.state.phase == begun and not table.is_abandoned:
                if time.monotonic() - spoken > HEARTBEAT_SECONDS:
                    spoken = time.monotonic()
                    yield ":\n\n"
                await asyncio.sleep(POLL_SECONDS)
    yield "event: settled\ndata: {}\n\n"
