"""Logger for trackio, which stores metrics in a SQLite file and shows them with `trackio show`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption
from gymposium.runs.loggers.protocol import LoggerStart, Metrics
from gymposium_loggers.run_ids import load_run_id, save_run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackioSettings:
    """Settings of `[loggers.trackio]`.

    The environment provides the folder of the files (`TRACKIO_DIR`), the token for a Space (`HF_TOKEN`) and the token
    for a server (`TRACKIO_WRITE_TOKEN`)."""

    project: str = "gymposium"
    group: str | None = None
    space: str | None = None
    """Hugging Face Space (`user/space`) that shows the metrics. In a public Space, the metrics are public."""
    server: str | None = None
    """Address of a trackio server, without its token."""

    def __post_init__(self) -> None:
        """Raise `BadOption` if the address contains a token, because settings are stored and shown."""
        if self.server is not None and "write_token" in self.server:
            raise BadOption(
                "[loggers.trackio]: server contains a write token. Remove it from the config, and "
                "set TRACKIO_WRITE_TOKEN in the environment."
            )


class TrackioLogger:
    """A logger that continues the same trackio run when a run is resumed. If trackio cannot write or send data, it only
    warns."""

    def __init__(self, start: LoggerStart, settings: TrackioSettings) -> None:
        """Raise `BadOption` if a later run has the same name."""
        import trackio

        self._current: Any = trackio.context_vars.current_run
        known = load_run_id(start, "trackio")
        with redirect_stdout(sys.stderr):  # standard output is for results
            self._run: Any = trackio.init(
                settings.project,
                name=start.run,
                group=settings.group,
                space_id=settings.space,
                server_url=settings.server,
                config=dict(start.config),
                resume="must" if known else "never",
            )
        if known and self._run.id != known:  # trackio resumes the latest run with that name
            self.close()
            raise BadOption(
                f"[loggers.trackio]: project {settings.project!r} has a later run also called {start.run!r}, so "
                f"trackio would continue that one. Choose another project, or remove [loggers.trackio] from the config."
            )
        save_run_id(start, "trackio", self._run.id)

    def log(self, step: int, metrics: Metrics) -> None:
        self._run.log(dict(metrics), step=step)

    def artifact(self, name: str, path: Path) -> None:
        self._run.log_artifact(path, name=name, type="file")

    def close(self, error: BaseException | None = None) -> None:
        with redirect_stdout(sys.stderr):
            self._run.finish()
        self._current.set(None)  # or trackio would finish it again, with a message, at the end of the process
