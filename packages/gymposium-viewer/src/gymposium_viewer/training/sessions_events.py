"""Events that report changed sessions of a run, so that open pages refresh."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool

from gymposium.errors import BadRecord
from gymposium.runs.run import Run
from gymposium.runs.sessions_reader import get_file_stamp, open_sessions
from gymposium_viewer.training.events import HEARTBEAT_SECONDS, POLL_SECONDS


async def stream_session_events(run: Run, session: str) -> AsyncIterator[str]:
    """Yield the events of a run's sessions, or of one session if its id is given, until the run is finished: `changed`
    at first and after each change, then `finished`."""
    watch, last_sent = _SessionWatcher(run, session), time.monotonic()
    while True:
        changed, ended = await run_in_threadpool(watch.poll)
        if changed or time.monotonic() - last_sent > HEARTBEAT_SECONDS:
            yield "event: changed\ndata: {}\n\n" if changed else ":\n\n"
            last_sent = time.monotonic()
        if ended:
            yield "event: finished\ndata: {}\n\n"
            return
        await asyncio.sleep(POLL_SECONDS)


class _SessionWatcher:
    """A watcher of a run's sessions file, or of one session in it."""

    def __init__(self, run: Run, session: str) -> None:
        self._run, self._session = run, session
        self._stamp: tuple[int, ...] | None = None
        self._state: Any = None

    def poll(self) -> tuple[bool, bool]:
        """Return whether anything changed since the last call, and whether the run is finished."""
        ended = self._run.finished  # checked before reading, so that the last change is seen
        before, self._stamp = self._stamp, get_file_stamp(self._run.sessions)
        if self._stamp == before:
            return False, ended
        if not self._session:
            return True, ended
        state, self._state = self._state, self._read_state()
        return before is None or self._state != state, ended

    def _read_state(self) -> Any:
        """Return everything that the session's page depends on."""
        try:
            with open_sessions(self._run.sessions) as file:
                row = file.session(self._session)
                if row is None:
                    return None
                return row, file.group(row.group), [(one.id, one.state) for one in file.sessions(group=row.group)]
        except BadRecord as error:
            return str(error)
