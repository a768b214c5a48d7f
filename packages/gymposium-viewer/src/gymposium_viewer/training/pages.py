"""The pages for training runs: the list, each run with its curves, and its rollouts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from gymposium.errors import BadRecord
from gymposium.records import Problem
from gymposium.runs.samples import SampledGroup
from gymposium_viewer.pages import Tab, quote_path, write_page
from gymposium_viewer.part import Card, Viewer
from gymposium_viewer.training.events import RunEvents, read_resume_offset, stream_messages
from gymposium_viewer.training.library import OpenRun, RunLibrary, find_line_numbers
from gymposium_viewer.training.run_page import WORDS, make_curves_data, make_run_values
from gymposium_viewer.training.run_view import summarize_run
from gymposium_viewer.training.sessions_pages import SessionPages, sessions_path
from gymposium_viewer.training.spread import compute_spread
from gymposium_viewer.training.tokens import make_pieces

LIST = "runs.html"


class TrainingPart:
    """The viewer part that shows training runs."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._library = RunLibrary(viewer.directory)
        self._sessions = SessionPages(viewer)
        self._token_pages: dict[str, tuple[int, dict[str, str] | None]] = {}
        viewer.is_exported = self._is_exported
        viewer.link_to_tokens = self._link_to_tokens

    @property
    def tabs(self) -> Sequence[Tab]:
        return [Tab("Training runs", LIST)] if self._library.names() or self._library.linked else []

    def cards(self) -> Sequence[Card]:
        self._library.scan()
        names, linked = self._library.names(), self._library.linked
        if not names and not linked:
            return []
        lines = ["1 run" if len(names) == 1 else f"{len(names)} runs"]
        if names:
            lines.append(", ".join(names[:4]) + (" …" if len(names) > 4 else ""))
        if linked:
            lines.append(f"{len(linked)} not read: a link leaves the folder")
        return [Card("Training runs", LIST, lines)]

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/runs.html", self._get_list),
            Route("/runs/{name:path}/index.html", self._get_run),
            Route("/runs/{name:path}/curves.js", self._get_curves),
            Route("/runs/{name:path}/events", self._get_events),
            Route("/runs/{name:path}/rollouts.html", self._get_rollouts),
            Route("/runs/{name:path}/rollouts/{step:number}-{number:number}.html", self._get_group),
            Route("/runs/{name:path}/match", self._redirect_to_match),
            Route("/runs/{name:path}/sessions.html", self._get_session_list),
            Route("/runs/{name:path}/sessions.events", self._get_session_events),
            Route("/runs/{name:path}/sessions/{session}.html", self._get_session),
        ]

    def export(self, out: Path) -> None:
        self._library.scan()
        if self.tabs:
            write_page(out, LIST, self._render_list())
        for opened in self._open_all():
            name = opened.run.name
            write_page(out, f"runs/{name}/index.html", self._render_run(opened))
            write_page(out, f"runs/{name}/curves.js", make_curves_script(opened))
            self._sessions.export(opened.run, out)
            if places := opened.samples.places():
                write_page(out, _rollouts_path(name), self._render_rollouts(opened))
                groups = [group for place in places if isinstance(group := _read_group(opened, *place), SampledGroup)]
                there = self._find_match_pages(opened, groups)
                for place in places:
                    write_page(out, _group_path(name, *place), self._render_group(opened, *place, there))

    # -- the pages

    def _render_list(self) -> str:
        runs = [summarize_run(opened) for opened in self._open_all()]
        linked = {name: self._make_relative(path) for name, path in self._library.linked.items()}
        return self._viewer.page("training/list.html", LIST, runs=runs, linked=linked, words=WORDS)

    def _render_run(self, opened: OpenRun) -> str:
        name = opened.run.name
        return self._viewer.page(
            "training/run.html",
            f"runs/{name}/index.html",
            **make_run_values(opened),
            alone=False,
            rollouts=_rollouts_path(name) if opened.samples.places() else None,
            sessions=sessions_path(name) if opened.run.sessions.exists() else None,
            events=f"runs/{name}/events" if self._viewer.live and not opened.run.finished else None,
        )

    def _render_rollouts(self, opened: OpenRun) -> str:
        name, kept = opened.run.name, [_read_group(opened, *place) for place in opened.samples.places()]
        groups = [group for group in kept if isinstance(group, SampledGroup)]
        problems = [*opened.samples.problems, *(group for group in kept if isinstance(group, Problem))]
        return self._viewer.page(
            "training/rollouts.html",
            _rollouts_path(name),
            name=name,
            groups=groups,
            spread=compute_spread(groups) if groups else None,
            make_path=lambda step, number: _group_path(name, step, number),
            problems=problems,
        )

    def _render_group(self, opened: OpenRun, step: int, number: int, matches: dict[str, str] | None = None) -> str:
        """Render a group's page. `matches` maps match ids to their pages; None if the server looks them up."""
        name, group = opened.run.name, _read_group(opened, step, number)
        places = opened.samples.places()
        at = places.index((step, number))
        before, after = (
            _group_path(name, *places[place]) if 0 <= place < len(places) else None for place in (at - 1, at + 1)
        )

        def link_match(match: str | None) -> str | None:
            if match is None or matches is not None:
                return (matches or {}).get(match or "")
            return f"runs/{quote_path(name)}/match?id={quote_path(match)}" if opened.run.matches.exists() else None

        return self._viewer.page(
            "training/group.html",
            _group_path(name, step, number),
            name=name,
            run=f"runs/{name}/index.html",
            rollouts=_rollouts_path(name),
            group=group,
            problem=group if isinstance(group, Problem) else None,
            spread=compute_spread([group]) if isinstance(group, SampledGroup) else None,
            before=before,
            after=after,
            pieces=make_pieces,
            link=link_match,
        )

    def _find_match_pages(self, opened: OpenRun, groups: Sequence[SampledGroup]) -> dict[str, str]:
        """Return the pages that an export has for the groups' matches, by match id."""
        trajectories = (trajectory for group in groups for trajectory in group.trajectories)
        ids = {trajectory.match for trajectory in trajectories if trajectory.match is not None}
        lines, file = find_line_numbers(opened.run.matches, ids), self._make_relative(opened.run.matches)
        paths = {match: self._viewer.link_to_line(file, line) for match, line in lines.items()}
        return {match: path for match, path in paths.items() if path is not None}

    def _is_exported(self, file: str, match: str) -> bool:
        """Return whether an export has a page for a match.

        In a training run, only matches with kept tokens have one."""
        kept = self._find_token_pages(file)
        return kept is None or match in kept

    def _link_to_tokens(self, file: str, match: str) -> str | None:
        path = (self._find_token_pages(file) or {}).get(match)
        return None if path is None else quote_path(path)

    def _find_token_pages(self, file: str) -> dict[str, str] | None:
        """Return the token page of each match in a run's file, by match id; None for a file outside runs."""
        groups = sum(len(opened.samples.places()) for opened in self._open_all())
        if self._token_pages.get(file, (-1, None))[0] != groups:  # an unfinished run keeps adding groups
            self._token_pages[file] = groups, self._list_token_pages(file)
        return self._token_pages[file][1]

    def _list_token_pages(self, file: str) -> dict[str, str] | None:
        for opened in self._open_all():
            matches = opened.run.matches
            if file == self._make_relative(matches):
                groups = (_read_group(opened, *place) for place in opened.samples.places())
                return {
                    trajectory.match: _group_path(opened.run.name, group.step, group.number)
                    for group in groups
                    if isinstance(group, SampledGroup)
                    for trajectory in group.trajectories
                    if trajectory.match is not None and trajectory.rows is not None
                }
            if file.startswith(f"{self._make_relative(matches.parent)}/"):
                return {}
        return None

    def _open_all(self) -> Iterator[OpenRun]:
        """Yield all runs, refreshed."""
        return filter(None, map(self._library.open, self._library.names()))

    def _make_relative(self, path: Path) -> str:
        return path.relative_to(self._viewer.directory).as_posix()

    def _match_path(self, opened: OpenRun, line: int) -> str:
        return f"matches/{self._make_relative(opened.run.matches)}/{line}.html"

    # -- the server's answers

    def _get_list(self, request: Request) -> Response:
        self._library.scan()
        return HTMLResponse(self._render_list())

    def _get_run(self, request: Request) -> Response:
        return HTMLResponse(self._render_run(self._open(request)))

    def _get_curves(self, request: Request) -> Response:
        return Response(make_curves_script(self._open(request)), media_type="text/javascript")

    async def _get_events(self, request: Request) -> Response:
        source = RunEvents(self._open(request), read_resume_offset(request))
        return StreamingResponse(stream_messages(source.poll), media_type="text/event-stream")

    def _get_rollouts(self, request: Request) -> Response:
        return HTMLResponse(self._render_rollouts(self._open(request)))

    def _get_group(self, request: Request) -> Response:
        opened, (step, number) = self._open(request), (request.path_params[name] for name in ("step", "number"))
        if (step, number) not in opened.samples.places():
            raise HTTPException(
                404, f"The run {opened.run.name} did not keep group {number} of step {step}. Choose one from its list."
            )
        return HTMLResponse(self._render_group(opened, step, number))

    def _redirect_to_match(self, request: Request) -> Response:
        opened, match = self._open(request), request.query_params.get("id", "")
        line = find_line_numbers(opened.run.matches, {match}).get(match)
        if line is None:
            raise HTTPException(404, f"The run {opened.run.name} has no match {match!r}. Choose one from its list.")
        up = "../" * request.url.path.strip("/").count("/")
        return RedirectResponse(up + quote_path(self._match_path(opened, line)), status_code=303)

    def _get_session_list(self, request: Request) -> Response:
        return HTMLResponse(self._sessions.render_list(self._open(request).run, request.query_params))

    async def _get_session_events(self, request: Request) -> Response:
        return self._sessions.events(self._open(request).run, request.query_params.get("id", ""))

    def _get_session(self, request: Request) -> Response:
        return HTMLResponse(self._sessions.render_session(self._open(request).run, request.path_params["session"]))

    def _open(self, request: Request) -> OpenRun:
        name = request.path_params["name"]
        opened = self._library.open(name)
        if opened is None:
            raise HTTPException(404, f"Unknown training run {name}. Choose one from the list of runs.")
        return opened


def make_curves_script(opened: OpenRun) -> str:
    """Return a run's curve data as a script, which pages can also load from disk."""
    return f"gymposiumCurves({json.dumps(make_curves_data(opened), separators=(',', ':'), allow_nan=False)});\n"


def _read_group(opened: OpenRun, step: int, number: int) -> SampledGroup | Problem:
    try:
        group = opened.samples.group(step, number)
    except (BadRecord, OSError) as error:
        return Problem(f"{opened.run.name}: step {step}, group {number}", str(error))
    return group or Problem(f"{opened.run.name}: step {step}, group {number}", "it no longer exists")


def _rollouts_path(name: str) -> str:
    return f"runs/{name}/rollouts.html"


def _group_path(name: str, step: int, number: int) -> str:
    return f"runs/{name}/rollouts/{step}-{number}.html"
