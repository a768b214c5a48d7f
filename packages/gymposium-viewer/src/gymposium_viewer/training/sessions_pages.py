"""The pages for the sessions of a served run: the list, and each session turn by turn."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from gymposium.errors import BadRecord
from gymposium.records import Problem
from gymposium.runs.run import Run
from gymposium.runs.sessions_reader import BeginningCounts, open_sessions
from gymposium_viewer.pages import quote_path, write_page
from gymposium_viewer.part import Viewer
from gymposium_viewer.training.events import stream_messages
from gymposium_viewer.training.session_view import SessionView, has_page, view_session
from gymposium_viewer.training.sessions_events import SessionEvents
from gymposium_viewer.training.sessions_view import BEGINNINGS, SessionFilter, SessionsView, view_sessions


class SessionPages:
    """The pages of runs' sessions."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._beginnings: dict[Path, BeginningCounts] = {}

    def render_list(self, run: Run, query: Mapping[str, str]) -> str:
        """Render the list of sessions, filtered by a query string. Raises `BadOption` for an invalid filter."""
        wanted = SessionFilter.from_query(query)
        found = self._read_sessions(run, wanted)
        return self._viewer.page(
            "training/sessions.html",
            sessions_path(run.name),
            name=run.name,
            view=None if isinstance(found, Problem) else found,
            problem=found if isinstance(found, Problem) else None,
            wanted=wanted,
            ways=BEGINNINGS,
            link=lambda session: session_path(run.name, session) if has_page(session) else None,
            events=self._events_path(run),
        )

    def render_session(self, run: Run, session: str, pages: Collection[str] | None = None) -> str:
        """Render a session's page.

        `pages` has the ids of the exported sessions, or is None on a server. Raises `HTTPException` for an unknown
        id."""
        found = self._read_session(run, session)
        if found is None:
            raise HTTPException(404, f"The run {run.name} has no session {session}.")
        events = self._events_path(run)

        def make_link(other: str) -> str | None:
            there = has_page(other) if pages is None else other in pages
            return session_path(run.name, other) if there else None

        return self._viewer.page(
            "training/session.html",
            session_path(run.name, session),
            name=run.name,
            id=session,
            sessions=sessions_path(run.name),
            view=None if isinstance(found, Problem) else found,
            problem=found if isinstance(found, Problem) else None,
            ways=BEGINNINGS,
            link=make_link,
            events=None if events is None else f"{events}?id={quote_path(session)}",
        )

    def events(self, run: Run, session: str) -> Response:
        """Return the event stream for a run's sessions, or for one session if its id is given."""
        _check_served(run)
        return StreamingResponse(stream_messages(SessionEvents(run, session).poll), media_type="text/event-stream")

    def export(self, run: Run, out: Path) -> None:
        """Write the pages of a run's sessions below `out`: the list, and the newest sessions."""
        if not run.sessions.exists():
            return
        write_page(out, sessions_path(run.name), self.render_list(run, {}))
        found = self._read_sessions(run, SessionFilter())
        pages = [] if isinstance(found, Problem) else [line.id for line in found.sessions if has_page(line.id)]
        for session in pages:
            write_page(out, session_path(run.name, session), self.render_session(run, session, pages))

    def _read_sessions(self, run: Run, wanted: SessionFilter) -> SessionsView | Problem:
        _check_served(run)
        try:
            with open_sessions(run.sessions) as file:
                return view_sessions(file, self._beginnings.setdefault(run.path, BeginningCounts()), wanted)
        except BadRecord as error:
            return Problem(run.sessions.name, str(error))

    def _read_session(self, run: Run, session: str) -> SessionView | Problem | None:
        _check_served(run)
        if not has_page(session):
            return None
        try:
            with open_sessions(run.sessions) as file:
                row = file.session(session)
                return None if row is None else view_session(file, row)
        except BadRecord as error:
            return Problem(run.sessions.name, str(error))

    def _events_path(self, run: Run) -> str | None:
        """Return the path of the event stream, or None if the page cannot change."""
        return f"{quote_path(f'runs/{run.name}')}/sessions.events" if self._viewer.live and not run.finished else None


def sessions_path(name: str) -> str:
    """Return the path of the page with a run's sessions."""
    return f"runs/{name}/sessions.html"


def session_path(name: str, session: str) -> str:
    """Return the path of a session's page."""
    return f"runs/{name}/sessions/{session}.html"


def _check_served(run: Run) -> None:
    if not run.sessions.exists():
        raise HTTPException(404, f"The run {run.name} is not served, so it has no sessions.")
