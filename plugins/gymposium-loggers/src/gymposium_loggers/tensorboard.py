"""Logger for TensorBoard, which writes event files without torch."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.runs.loggers.protocol import LoggerStart, Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorboardSettings:
    """Settings of `[loggers.tensorboard]`."""

    folder: str = "tensorboard"
    """Folder of the event files, absolute or relative to the run's folder."""


class TensorboardLogger:
    """A logger that writes numbers as scalars and text as text. Each call writes its data to disk before it returns.

    A resumed run writes another file, which begins with TensorBoard's restart mark. TensorBoard then hides later
    steps in earlier files, so no step appears twice."""

    def __init__(self, start: LoggerStart, settings: TensorboardSettings) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._events, self._summaries, self._tensors, self._types = event_pb2, summary_pb2, tensor_pb2, types_pb2
        self._writer: Any = EventFileWriter(str(start.directory / settings.folder))
        if start.resumed:
            began = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self._add_event(start.step, session_log=began)
        else:
            written = json.dumps(start.config, indent=2, default=str)
            self._add_event(
                start.step, summary=self._make_summary([self._make_text("config", f"```json\n{written}\n```")])
            )
        self._writer.flush()

    def log(self, step: int, metrics: Metrics) -> None:
        values = [
            self._make_text(name, value) if isinstance(value, str) else self._make_scalar(name, value)
            for name, value in metrics.items()
        ]
        self._add_event(step, summary=self._make_summary(values))
        self._writer.flush()

    def artifact(self, name: str, path: Path) -> None:
        """Do nothing, because TensorBoard stores no files."""

    def close(self, error: BaseException | None = None) -> None:
        self._writer.close()

    def _add_event(self, step: int, **what: Any) -> None:
        self._writer.add_event(self._events.Event(wall_time=time.time(), step=step, **what))

    def _make_summary(self, values: list[Any]) -> Any:
        return self._summaries.Summary(value=values)

    def _make_scalar(self, name: str, value: float) -> Any:
        return self._summaries.Summary.Value(tag=name, simple_value=float(value))

    def _make_text(self, name: str, value: str) -> Any:
        """Return a value for TensorBoard's text plugin: a tensor with one string and the plugin's mark."""
        data = self._summaries.SummaryMetadata.PluginData(plugin_name="text")
        tensor = self._tensors.TensorProto(dtype=self._types.DT_STRING, string_val=[value.encode()])
        return self._summaries.Summary.Value(
            tag=name, metadata=self._summaries.SummaryMetadata(plugin_data=data), tensor=tensor
        )
