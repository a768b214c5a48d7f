"""The differences between two runs: metrics, measured results, and weights, each to the bit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMES = ("perf/",)
"""What the names of metrics begin with that depend on the clock or on the machine's memory."""
WEIGHTS = ("cold_start", "checkpoints", "adapter", "model", "versions")
"""Folders of a run that hold tensors, in the order that a run first writes them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two runs of one case compare."""

    metrics: int
    """Values compared in metrics.jsonl and results.json."""
    tensors: int
    differences: tuple[str, ...]
    """A sentence for each value or tensor that differs, in the order that a run makes them."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Stored tensor."""

    dtype: str
    shape: tuple[int, ...]
    values: bytes

    @property
    def kind(self) -> str:
        """Type and shape, in words."""
        return f"{self.dtype} of shape {self.shape}"


def compare(old: Path, new: Path) -> Comparison:
    """Compare two run directories."""
    metrics = [_metrics(run) for run in (old, new)]
    weights = [_tensors(run) for run in (old, new)]
    figures = [{**found, **_results(run)} for found, run in zip(metrics, (old, new), strict=True)]
    differences = [*_idle_steps(metrics[0]), *_differing_figures(*figures), *_differing_tensors(*weights)]
    return Comparison(len(figures[0]), len(weights[0]), tuple(differences))


def _metrics(run: Path) -> dict[str, str]:
    """Return every metric as JSON text, by stage, step and name."""
    figures = {}
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        where = f"{entry.pop('stage')} step {entry.pop('step')}"
        for name, value in entry.items():
            if not name.startswith(TIMES):
                figures[f"{where}, metric {name}"] = json.dumps(value)
    return figures


def _idle_steps(metrics: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each step that had no rows to learn from: a case with such a step compares too little."""
    for name, value in metrics.items():
        if name.endswith(", metric train/rows") and value == "0":
            yield f"{name}: 0 in OLD, so this step learned nothing; change the case"


def _results(run: Path) -> dict[str, str]:
    """Return every value of results.json but seconds, as JSON text, by its path."""
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    return {f"results, {path}": json.dumps(value) for path, value in _leaves(results) if "seconds" not in path}


def _leaves(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if entries is None:
        yield path, data
        return
    for name, value in entries:
        yield from _leaves(value, f"{path}.{name}" if path else str(name))


def _tensors(run: Path) -> dict[str, Tensor]:
    """Return every tensor of a run, by its folder and name, whichever of a checkpoint's files it is in."""
    tensors: dict[str, Tensor] = {}
    for folder in WEIGHTS:
        for file in sorted((run / folder).rglob("*.safetensors")):
            where = f"{file.parent.relative_to(run)}, {file.stem.rstrip('-0123456789')}"
            tensors |= {f"{where}, tensor {name}": tensor for name, tensor in _read(file)}
    return tensors


def _read(file: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a safetensors file, sorted by name: the length of a JSON header, the header, then the
    values."""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    for name in sorted(header.keys() - {"__metadata__"}):
        first, last = header[name]["data_offsets"]
        yield name, Tensor(header[name]["dtype"], tuple(header[name]["shape"]), data[start + first : start + last])


def _differing_figures(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in [*old, *(name for name in new if name not in old)]:
        if old.get(name) != new.get(name):
            yield f"{name}: {old.get(name, 'missing')} in OLD, {new.get(name, 'missing')} in NEW"


def _differing_tensors(old: Mapping[str, Tensor], new: Mapping[str, Tensor]) -> Iterator[str]:
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in old or name not in new:
            yield f"{name}: missing in {'OLD' if name not in old else 'NEW'}"
        elif old[name].kind != new[name].kind:
            yield f"{name}: {old[name].kind} in OLD, {new[name].kind} in NEW"
        elif old[name] != new[name]:
            yield f"{name}: {old[name].kind}, other values"
