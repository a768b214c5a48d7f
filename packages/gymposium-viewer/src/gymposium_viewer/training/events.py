"""A run's new metrics as server-sent events, in the format of the HTML standard (html.spec.whatwg.org, 9.2).

An event's id is the byte offset in metrics.jsonl after its line. After losing the connection, a browser sends the last
id that it received (`Last-Event-ID`), and the events resume there.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from gymposium.http.numbers import parse_number
from gymposium.runs.curves import parse_curve_point
from gymposium.runs.growing import GrowingFile
from gymposium_viewer.training.library import OpenRun
from gymposium_viewer.training.run_view import dump_learning_curves

POLL_SECONDS = 0.4
"""Number of seconds between reads of the files."""
HEARTBEAT_SECONDS = 15.0
"""Number of silent seconds before a comment is sent to detect a lost connection."""


def read_resume_offset(request: Request) -> int:
    """Return the offset where a browser resumes: after its last event, or else after the data in its page."""
    offset = request.headers.get("last-event-id") or request.query_params.get("from", "")
    return max(0, parse_number(offset))


async def stream_messages(poll: Callable[[], tuple[list[str], bool]]) -> AsyncIterator[str]:
    """Yield server-sent events until the last one. `poll` returns the new messages, and whether no more will follow."""
    last_sent = time.monotonic()
    while True:
        messages, ended = await run_in_threadpool(poll)
        if not messages and time.monotonic() - last_sent > HEARTBEAT_SECONDS:
            messages = [":\n\n"]
        for message in messages:
            yield message
            last_sent = time.monotonic()
        if ended:
            return
        await asyncio.sleep(POLL_SECONDS)


class RunEvents:
    """A run's events after an offset, until the run is finished.

    - `metrics`: a step's metrics
    - `evaluation`: the learning curves, when they change
    - `samples`: the number of kept groups, when it changes
    - `renewed`: the file was replaced, so earlier data is invalid
    - `finished`: the last event"""

    def __init__(self, opened: OpenRun, offset: int) -> None:
        self._opened = opened
        self._file = GrowingFile(opened.run.metrics, offset)
        self._state = self._read_state()
        self._evaluated = dump_learning_curves(opened)

    def poll(self) -> tuple[list[str], bool]:
        """Return the new messages, and whether no more will follow."""
        ended = self._opened.run.finished  # checked before reading, so that the last lines are read
        return [*self._iterate_messages(), *([format_message("finished", {})] if ended else [])], ended

    def _iterate_messages(self) -> Iterator[str]:
        if self._file.check_replaced():
            yield format_message("renewed", {}, self._file.offset)
        for line in self._file.lines():
            entry = parse_curve_point(line)
            if not isinstance(entry, str):
                data = {"stage": entry.stage, "step": entry.step, "values": entry.values}
                yield format_message("metrics", data, line.stop)
        before, self._state = self._state, self._read_state()
        if self._state == before:
            return
        evaluated = dump_learning_curves(self._opened)
        if evaluated != self._evaluated:
            self._evaluated = evaluated
            yield format_message("evaluation", evaluated)
        groups = self._state[0]
        if groups != before[0]:
            yield format_message("samples", groups)

    def _read_state(self) -> tuple[int, int, int]:
        """Return the number of kept groups, the metrics offset, and the results' modification time.

        Learning curves can change only if one of these does."""
        opened = self._opened.refresh()
        results = opened.run.path / "results.json"
        return len(opened.samples.places()), opened.curves.offset, results.stat().st_mtime_ns if results.exists() else 0


def format_message(kind: str, data: Any, number: int | None = None) -> str:
    end = "" if number is None else f"id: {number}\n"
    return f"event: {kind}\ndata: {json.dumps(data, allow_nan=False)}\n{end}\n"
