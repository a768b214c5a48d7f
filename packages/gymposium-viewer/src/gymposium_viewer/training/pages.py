"""The pages of training runs: the list, each run with its curves, and its rollouts."""

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
from gymposium.runs.samples import KeptGroup
from gymposium_viewer.pages import Tab, in_url, write_page
from gymposium_viewer.part import Card, Viewer
from gymposium_viewer.training.events import events, read_from
from gymposium_viewer.training.library import Library, OpenRun, find_line_numbers
from gymposium_viewer.training.run_page import WORDS, curves_data, run_values
from gymposium_viewer.training.run_view import summary
from gymposium_viewer.training.sessions_pages import SessionsPages, sessions_path
from gymposium_viewer.training.spread import spread
from gymposium_viewer.training.tokens import pieces

LIST = "runs.html"


class Training:
    """The viewer part that shows training runs."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._library = Library(viewer.directory)
        self._sessions = SessionsPages(viewer)
        self._kept: dict[str, tuple[int, dict[str, str] | None]] = {}
        viewer.exports = self._exports
        viewer.link_to_tokens = self._link_to_tokens

    @property
    def tabs(self) -> Sequence[Tab]:
        return [Tab("Training runs", LIST)] if self._library.names() or self._library.linked else []

    def cards(self) -> Sequence[Card]:
        self._library.look()
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
            Route("/runs.html", self._list),
            Route("/runs/{name:path}/index.html", self._run),
            Route("/runs/{name:path}/curves.js", self._curves),
            Route("/runs/{name:path}/events", self._events),
            Route("/runs/{name:path}/rollouts.html", self._rollouts),
            Route("/runs/{name:path}/rollouts/{step:number}-{number:number}.html", self._group),
            Route("/runs/{name:path}/match", self._match),
            Route("/runs/{name:path}/sessions.html", self._session_list),
            Route("/runs/{name:path}/sessions.events", self._session_events),
            Route("/runs/{name:path}/sessions/{session}.html", self._session),
        ]

    def export(self, out: Path) -> None:
        self._library.look()
        if self.tabs:
            write_page(out, LIST, self._list_page())
        for opened in self._all():
            name = opened.run.name
            write_page(out, f"runs/{name}/index.html", self._run_page(opened))
            write_page(out, f"runs/{name}/curves.js", curves_script(opened))
            self._sessions.export(opened.run, out)
            if places := opened.samples.places():
                write_page(out, _rollouts(name), self._rollouts_page(opened))
                groups = [group for place in places if isinstance(group := _group(opened, *place), KeptGroup)]
                there = self._pages_of_matches(opened, groups)
                for place in places:
                    write_page(out, _group_path(name, *place), self._group_page(opened, *place, there))

    # -- the pages

    def _list_page(self) -> str:
        runs = [summary(opened) for opened in self._all()]
        linked = {name: self._below(path) for name, path in self._library.linked.items()}
        return self._viewer.page("training/list.html", LIST, runs=runs, linked=linked, words=WORDS)

    def _run_page(self, opened: OpenRun) -> str:
        name = opened.run.name
        return self._viewer.page(
            "training/run.html",
            f"runs/{name}/index.html",
            **run_values(opened),
            alone=False,
            rollouts=_rollouts(name) if opened.samples.places() else None,
            sessions=sessions_path(name) if opened.run.sessions.exists() else None,
            events=f"runs/{name}/events" if self._viewer.live and not opened.run.finished else None,
        )

    def _rollouts_page(self, opened: OpenRun) -> str:
        name, kept = opened.run.name, [_group(opened, *place) for place in opened.samples.places()]
        groups = [group for group in kept if isinstance(group, KeptGroup)]
        problems = [*opened.samples.problems, *(group for group in kept if isinstance(group, Problem))]
        return self._viewer.page(
            "training/rollouts.html",
            _rollouts(name),
            name=name,
            groups=groups,
            spread=spread(groups) if groups else None,
            make_path=lambda step, number: _group_path(name, step, number),
            problems=problems,
        )

    def _group_page(self, opened: OpenRun, step: int, number: int, matches: dict[str, str] | None = None) -> str:
        """Render a group's page. `matches` holds the pages of its matches by id; None if the server looks them up."""
        name, group = opened.run.name, _group(opened, step, number)
        places = opened.samples.places()
        at = places.index((step, number))
        before, after = (
            _group_path(name, *places[place]) if 0 <= place < len(places) else None for place in (at - 1, at + 1)
        )

        def link(match: str | None) -> str | None:
            if match is None or matches is not None:
                return (matches or {}).get(match or "")
            return f"runs/{in_url(name)}/match?id={in_url(match)}" if opened.run.matches.exists() else None

        return self._viewer.page(
            "training/group.html",
            _group_path(name, step, number),
            name=name,
            run=f"runs/{name}/index.html",
            rollouts=_rollouts(name),
            group=group,
            problem=group if isinstance(group, Problem) else None,
            spread=spread([group]) if isinstance(group, KeptGroup) else None,
            before=before,
            after=after,
            pieces=pieces,
            link=link,
        )

    def _pages_of_matches(self, opened: OpenRun, groups: Sequence[KeptGroup]) -> dict[str, str]:
        """Return the pages of the groups' matches in an export, by match id."""
        trajectories = (trajectory for group in groups for trajectory in group.trajectories)
        ids = {trajectory.match for trajectory in trajectories if trajectory.match is not None}
        lines, file = find_line_numbers(opened.run.matches, ids), self._below(opened.run.matches)
        paths = {match: self._viewer.link_to_line(file, line) for match, line in lines.items()}
        return {match: path for match, path in paths.items() if path is not None}

    def _exports(self, file: str, match: str) -> bool:
        """Return whether an export has a page for a match. In a training run, only matches with kept tokens have
        one."""
        kept = self._tokens(file)
        return kept is None or match in kept

    def _link_to_tokens(self, file: str, match: str) -> str | None:
        path = (self._tokens(file) or {}).get(match)
        return None if path is None else in_url(path)

    def _tokens(self, file: str) -> dict[str, str] | None:
        """Return the pages with the tokens of the matches in a run's file, by match id; None for a file outside
        runs."""
        groups = sum(len(opened.samples.places()) for opened in self._all())
        if self._kept.get(file, (-1, None))[0] != groups:  # an unfinished run keeps adding groups
            self._kept[file] = groups, self._tokens_in(file)
        return self._kept[file][1]

    def _tokens_in(self, file: str) -> dict[str, str] | None:
        for opened in self._all():
            matches = opened.run.matches
            if file == self._below(matches):
                groups = (_group(opened, *place) for place in opened.samples.places())
                return {
                    trajectory.match: _group_path(opened.run.name, group.step, group.number)
                    for group in groups
                    if isinstance(group, KeptGroup)
                    for trajectory in group.trajectories
                    if trajectory.match is not None and trajectory.rows is not None
                }
            if file.startswith(f"{self._below(matches.parent)}/"):
                return {}
        return None

    def _all(self) -> Iterator[OpenRun]:
        """Yield all runs, read up to now."""
        return filter(None, map(self._library.open, self._library.names()))

    def _below(self, path: Path) -> str:
        return path.relative_to(self._viewer.directory).as_posix()

    def _match_path(self, opened: OpenRun, line: int) -> str:
        return f"matches/{self._below(opened.run.matches)}/{line}.html"

    # -- the server's answers

    def _list(self, request: Request) -> Response:
        self._library.look()
        return HTMLResponse(self._list_page())

    def _run(self, request: Request) -> Response:
        return HTMLResponse(self._run_page(self._open(request)))

    def _curves(self, request: Request) -> Response:
        return Response(curves_script(self._open(request)), media_type="text/javascript")

    async def _events(self, request: Request) -> Response:
        opened = self._open(request)
        return StreamingResponse(events(opened, read_from(request)), media_type="text/event-stream")

    def _rollouts(self, request: Request) -> Response:
        return HTMLResponse(self._rollouts_page(self._open(request)))

    def _group(self, request: Request) -> Response:
        opened, (step, number) = self._open(request), (request.path_params[name] for name in ("step", "number"))
        if (step, number) not in opened.samples.places():
            raise HTTPException(404, f"The run {opened.run.name} did not keep group {number} of step {step}.")
        return HTMLResponse(self._group_page(opened, step, number))

    def _match(self, request: Request) -> Response:
        opened, match = self._open(request), request.query_params.get("id", "")
        line = find_line_numbers(opened.run.matches, {match}).get(match)
        if line is None:
            raise HTTPException(404, f"The run has no match {match!r}.")
        up = "../" * request.url.path.strip("/").count("/")
        return RedirectResponse(up + in_url(self._match_path(opened, line)), status_code=303)

    def _session_list(self, request: Request) -> Response:
        return HTMLResponse(self._sessions.list_page(self._open(request).run, request.query_params))

    async def _session_events(self, request: Request) -> Response:
        return self._sessions.events(self._open(request).run, request.query_params.get("id", ""))

    def _session(self, request: Request) -> Response:
        return HTMLResponse(self._sessions.session_page(self._open(request).run, request.path_params["session"]))

    def _open(self, request: Request) -> OpenRun:
        name = request.path_params["name"]
        opened = self._library.open(name)
        if opened is None:
            raise HTTPException(404, f"Unknown training run {name}.")
        return opened


def curves_script(opened: OpenRun) -> str:
    """Return a run's curve data as a script, which pages can also load from disk."""
    return f"gymposiumCurves({json.dumps(curves_data(opened), separators=(',', ':'), allow_nan=False)});\n"


def _group(opened: OpenRun, step: int, number: int) -> KeptGroup | Problem:
    try:
        group = opened.samples.group(step, number)
    except (BadRecord, OSError) as error:
        return Problem(f"{opened.run.name}: step {step}, group {number}", str(error))
    return group or Problem(f"{opened.run.name}: step {step}, group {number}", "it no longer exists")


def _rollouts(name: str) -> str:
    return f"runs/{name}/rollouts.html"


def _group_path(name: str, step: int, number: int) -> str:
    return f"runs/{name}/rollouts/{step}-{number}.html"
