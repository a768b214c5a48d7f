"""trackio, which keeps metrics in a SQLite file of its own and shows them with `trackio show`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, MissingExtra
from gymposium.loggers.protocol import LoggerStart, Metrics
from gymposium_loggers.kept import keep, recall


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackioSettings:
    """`[loggers.trackio]`. Where the files are is `TRACKIO_DIR` of the environment, the token for a Space is
    `HF_TOKEN`, and the token for a server of your own is `TRACKIO_WRITE_TOKEN`."""

    project: str = "gymposium"
    group: str | None = None
    space: str | None = None
    """`user/space` on Hugging Face that shows the metrics. They become public where the Space is."""
    server: str | None = None
    """The address of a server of your own, without its token."""

    def __post_init__(self) -> None:
        """Raises `BadOption` where an address carries a token: settings are written down and shown."""
        if self.server is not None and "write_token" in self.server:
            raise BadOption(
                "[loggers.trackio]: server holds a write token. Take it out of the address and out of the config, and "
                "set TRACKIO_WRITE_TOKEN in the environment."
            )


class TrackioLogger:
    """A run that resumes goes on as the same run. trackio itself only warns of what it cannot write or send."""

    def __init__(self, start: LoggerStart, settings: TrackioSettings) -> None:
        """Raises `MissingExtra`, and `BadOption` where another run has taken the name since."""
        try:
            import trackio
        except ModuleNotFoundError as error:
            raise MissingExtra("trackio", '"gymposium-loggers[trackio]"') from error
        self._current: Any = trackio.context_vars.current_run
        known = recall(start, "trackio")
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
        if known and self._run.id != known:  # it resumes the latest of that name
            self.close()
            raise BadOption(
                f"[loggers.trackio]: project {settings.project!r} has a later run that is called {start.run!r} too, so "
                f"trackio would go on with that one. Name another project, or take [loggers.trackio] out of the config."
            )
        keep(start, "trackio", self._run.id)

    def log(self, step: int, metrics: Metrics) -> None:
        self._run.log(dict(metrics), step=step)

    def artifact(self, name: str, path: Path) -> None:
        self._run.log_artifact(path, name=name, type="file")

    def close(self, error: BaseException | None = None) -> None:
        with redirect_stdout(sys.stderr):
            self._run.finish()
        self._current.set(None)  # or it would be finished once more, in words, when the process ends
