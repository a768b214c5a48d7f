"""Events that tell open pages to refresh when a run's sessions change."""

from __future__ import annotations

from typing import Any

from gymposium.errors import BadRecord
from gymposium.runs.run import Run
from gymposium.runs.sessions_reader import get_file_stamp, open_sessions
from gymposium_viewer.training.events import format_message


class SessionEvents:
    """The events of a run's sessions, or of one session if its id is given.

    They are `changed`, at first and after each change, and finally `finished`, when the run is finished."""

    def __init__(self, run: Run, session: str) -> None:
        self._run, self._session = run, session
        self._stamp: tuple[int, ...] | None = None
        self._state: Any = None

    def poll(self) -> tuple[list[str], bool]:
        """Return the new messages, and whether no more will follow."""
        ended = self._run.finished  # checked before reading, so that the last change is seen
        messages = [format_message("changed", {})] if self._has_changed() else []
        return [*messages, *([format_message("finished", {})] if ended else [])], ended

    def _has_changed(self) -> bool:
        before, self._stamp = self._stamp, get_file_stamp(self._run.sessions)
        if self._stamp == before:
            return False
        if not self._session:
            return True
        state, self._state = self._state, self._read_state()
        return before is None or self._state != state

    def _read_state(self) -> Any:
        """Return a value that changes whenever the page's content may change."""
        try:
            with open_sessions(self._run.sessions) as file:
                row = file.session(self._session)
                if row is None:
                    return None
                return row, file.group(row.group), [(one.id, one.state) for one in file.sessions(group=row.group)]
        except BadRecord as error:
            return str(error)
