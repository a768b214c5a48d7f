"""A run's metrics as they come, as server-sent events.

Each event's id is how far metrics.jsonl was read with it: a browser that was cut off says the last one that it got
(`Last-Event-ID`), and goes on behind it. The format is that of the HTML standard (html.spec.whatwg.org, 9.2).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from gymposium.runs.curves import entry_of
from gymposium.runs.growing import Growing
from gymposium.viewer.numbers import number
from gymposium.viewer.training.library import Opened

LOOKS = 0.4
"""Seconds between two looks at the files."""
BEATS = 15.0
"""Seconds of silence after which a comment is sent, so that a connection that is gone is noticed."""


def read_from(request: Request) -> int:
    """Where a browser wants to go on: behind the last event that it got, else where its page ended."""
    given = request.headers.get("last-event-id") or request.query_params.get("from", "")
    return max(0, number(given))


async def events(opened: Opened, offset: int, evaluation: Callable[[Opened], Any]) -> AsyncIterator[str]:
    """What is new behind `offset`, on and on until the run is finished:

    `metrics`, a step; `evaluation`, the learning curves where they have changed; `samples`, how many groups there are
    to be looked at; `renewed` where the file was replaced, so that all that was shown is void; `finished`."""
    source = _Source(opened, offset, evaluation)
    spoken = time.monotonic()
    while True:
        messages, ended = await run_in_threadpool(source.look)
        for message in messages:
            yield message
        if ended:
            return
        now = time.monotonic()
        if messages:
            spoken = now
        elif now - spoken > BEATS:
            spoken = now
            yield ":\n\n"
        await asyncio.sleep(LOOKS)


class _Source:
    def __init__(self, opened: Opened, offset: int, evaluation: Callable[[Opened], Any]) -> None:
        self._opened, self._evaluation = opened, evaluation
        self._file = Growing(opened.run.metrics, offset)
        self._changed = self._state()
        self._evaluated: Any = evaluation(opened)
        self._samples = len(opened.samples.places())

    def look(self) -> tuple[list[str], bool]:
        """All that is new, and whether nothing more will come."""
        ended = self._opened.run.finished  # before the files are read: what it wrote last is in them then
        return [*self._messages(), *([_message("finished", {})] if ended else [])], ended

    def _messages(self) -> Iterator[str]:
        if self._file.renewed():
            yield _message("renewed", {}, self._file.offset)
        for line in self._file.lines():
            entry = entry_of(line)
            if not isinstance(entry, str):
                data = {"stage": entry.stage, "step": entry.step, "values": entry.values}
                yield _message("metrics", data, line.stop)
        state = self._state()
        if state == self._changed:
            return
        self._changed = state
        evaluated = self._evaluation(self._opened)
        if evaluated != self._evaluated:
            self._evaluated = evaluated
            yield _message("evaluation", evaluated)
        samples = len(self._opened.samples.places())
        if samples != self._samples:
            self._samples = samples
            yield _message("samples", samples)

    def _state(self) -> tuple[int, ...]:
        """Other where anything has changed that curves are made from."""
        opened = self._opened.refresh()
        results = opened.run.path / "results.json"
        return opened.curves.offset, len(opened.samples.places()), results.stat().st_mtime_ns if results.exists() else 0


def _message(kind: str, data: Any, number: int | None = None) -> str:
    end = "" if number is None else f"id: {number}\n"
    return f"event: {kind}\ndata: {json.dumps(data, allow_nan=False)}\n{end}\n"
