"""Logger for Langfuse."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gymposium.errors import BadOption, LoggerError
from gymposium.runs.loggers.protocol import LoggerStart, Metrics
from gymposium.util.visible import plural, quantity
from gymposium_loggers.run_ids import load_run_id, save_run_id

KEYS = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")


@dataclass(frozen=True, slots=True, kw_only=True)
class LangfuseSettings:
    """Settings of `[loggers.langfuse]`.

    The keys are read from the environment: `LANGFUSE_PUBLIC_KEY` and `LANGFUSE_SECRET_KEY`."""

    host: str | None = None
    """Address of the service; by default `LANGFUSE_BASE_URL`, or Langfuse's own service."""

    def __post_init__(self) -> None:
        """Raise `BadOption` if the address contains a password, because settings are stored and shown."""
        if self.host is not None and urlsplit(self.host).password is not None:
            raise BadOption(
                f"[loggers.langfuse]: host contains a password. Remove it from the config, and set "
                f"{' and '.join(KEYS)} in the environment."
            )


class LangfuseLogger:
    """A logger with a session for the run and a trace for each step.

    A trace contains an observation with all metrics, and a score per metric, which Langfuse's charts show. Non-finite
    numbers appear only in the observation, because Langfuse refuses them as scores.

    Each call sends its data before it returns. The SDK would send from a thread and only log failures. A resumed run
    continues in the same session, and a repeated step in the same trace."""

    def __init__(self, start: LoggerStart, settings: LangfuseSettings) -> None:
        """Raise `BadOption` if the keys are not set, and the library's errors if the service cannot be reached or
        refuses the keys."""
        from langfuse.api import client as api, opentelemetry as otel, scores

        public, secret = (os.environ.get(name, "") for name in KEYS)
        if not (public and secret):
            raise BadOption(f"[loggers.langfuse]: set {' and '.join(KEYS)} in the environment.")
        self._otel: Any = otel
        self._score: Any = scores.CreateScoreRequest
        self._api: Any = api.LangfuseAPI(
            base_url=settings.host or os.environ.get("LANGFUSE_BASE_URL", "https://cloud.langfuse.com"),
            username=public,
            password=secret,
            x_langfuse_public_key=public,
            headers={"x-langfuse-ingestion-version": "4"},  # shows data at once instead of after minutes
        )
        if not self._api.projects.get().data:
            raise BadOption(
                f"[loggers.langfuse]: {' and '.join(KEYS)} belong to no project. Create them in the project's settings."
            )
        self._run = start.run
        known = load_run_id(start, "langfuse")
        self._session = known or f"{start.run}-{secrets.token_hex(4)}"
        save_run_id(start, "langfuse", self._session)
        self._step = start.step
        if known is None:
            self._send("config", start.step, {"langfuse.observation.input": _dump_json(start.config)})

    def log(self, step: int, metrics: Metrics) -> None:
        """Log the metrics of a step. Raises `LoggerError` if Langfuse refuses a score."""
        self._step = step
        trace = self._send("metrics", step, {"langfuse.observation.output": _dump_json(metrics)})
        scores = [
            self._score(
                name=name,
                value=value if isinstance(value, str) else float(value),
                data_type="CATEGORICAL" if isinstance(value, str) else "NUMERIC",
                trace_id=trace,
                metadata={"step": step},
            )
            for name, value in metrics.items()
            if isinstance(value, str) or math.isfinite(value)
        ]
        answer: Any = self._api.scores.create(request=scores) if scores else None
        if getattr(answer, "rejected", 0):
            raise LoggerError(
                f"Logger langfuse: {quantity(answer.rejected, 'score')} of step {step} "
                f"{plural(answer.rejected, 'was', 'were')} rejected: "
                f"{'; '.join(str(error) for error in answer.errors)}"
            )

    def artifact(self, name: str, path: Path) -> None:
        """Do nothing, because Langfuse stores no files."""

    def close(self, error: BaseException | None = None) -> None:
        ended = {"langfuse.observation.output": "finished"}
        if error is not None:
            ended = {
                "langfuse.observation.level": "ERROR",
                "langfuse.observation.status_message": f"{type(error).__name__}: {error}",
            }
        self._send("end", self._step, ended)

    def _send(self, name: str, step: int, about: Mapping[str, str]) -> str:
        """Send an observation in the trace of its step. Returns the trace's id."""
        otel, now = self._otel, str(time.time_ns())
        trace = hashlib.sha256(f"{self._session}:{step}".encode()).hexdigest()[:32]
        attributes = {
            "session.id": self._session,
            "langfuse.trace.name": f"{self._run} step {step}",
            "langfuse.observation.type": "event",
            "langfuse.observation.metadata.run": self._run,
            "langfuse.observation.metadata.step": str(step),
            **about,
        }
        span = otel.OtelSpan(
            trace_id=trace,
            span_id=secrets.token_hex(8),
            name=name,
            kind=1,
            start_time_unix_nano=now,
            end_time_unix_nano=now,
            attributes=[
                otel.OtelAttribute(key=key, value=otel.OtelAttributeValue(string_value=value))
                for key, value in attributes.items()
            ],
            status={},
        )
        scope = otel.OtelScopeSpan(scope=otel.OtelScope(name="gymposium-loggers"), spans=[span])
        self._api.opentelemetry.export_traces(
            resource_spans=[otel.OtelResourceSpan(resource=otel.OtelResource(attributes=[]), scope_spans=[scope])]
        )
        return trace


def _dump_json(values: Mapping[str, Any]) -> str:
    """Return JSON with non-finite numbers written as text."""
    return json.dumps(_replace_nonfinite(values), default=str, allow_nan=False)


def _replace_nonfinite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _replace_nonfinite(below) for name, below in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_nonfinite(below) for below in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
