"""Defects planted in copies of a trainer that was written by hand."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from gymposium_testing.trainers import RowTrainer

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples" / "conformance"
LOOP, ADAPTER = "reinforce", "reinforce_adapter"


@dataclass(frozen=True, slots=True)
class Defect:
    """A piece of the loop that is replaced."""

    name: str
    old: str
    new: str
    check: str = ""
    """The check that names the defect; empty if it was planted without knowing the checks."""

    def planted(self, source: str) -> str:
        """Return the source with the defect. Raises `ValueError` unless the piece is there once."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: its piece is {source.count(self.old)} times in the loop, not once.")
        return source.replace(self.old, self.new)


def defects(file: Path) -> list[Defect]:
    """Return the defects of a file."""
    return [Defect(**one) for one in tomllib.loads(file.read_text(encoding="utf-8"))["defect"]]


@contextmanager
def loop_trainer(scratch: Path, defect: Defect | None = None) -> Iterator[RowTrainer]:
    """The trainer written by hand, with a defect or without, for the duration of the block. `scratch` is an empty
    folder for its files."""
    source = (EXAMPLES / f"{LOOP}.py").read_text(encoding="utf-8")
    (scratch / f"{LOOP}.py").write_text(source if defect is None else defect.planted(source), encoding="utf-8")
    (scratch / f"{ADAPTER}.py").write_bytes((EXAMPLES / f"{ADAPTER}.py").read_bytes())
    try:
        _load(LOOP, scratch)
        trainer: RowTrainer = _load(ADAPTER, scratch).LoopTrainer()
        yield trainer
    finally:
        for name in (LOOP, ADAPTER):
            sys.modules.pop(name, None)


def _load(name: str, folder: Path) -> ModuleType:
    spec = spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
