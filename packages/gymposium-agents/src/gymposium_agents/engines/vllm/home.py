"""Where the engine lives: its virtual environment, the logs of its servers, and what says which servers run."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.errors import GymposiumError

HOME_VARIABLE = "GYMPOSIUM_ENGINE_HOME"


@dataclass(frozen=True, slots=True)
class EngineHome:
    """A directory that holds one installation of vLLM."""

    root: Path

    @property
    def environment(self) -> Path:
        return self.root / "venv"

    @property
    def python(self) -> Path:
        return self.environment / "bin" / "python"

    @property
    def marker(self) -> Path:
        """Written last: without it the environment is half-made."""
        return self.root / "complete.json"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def running(self) -> Path:
        """One file for each server that `gymposium engine start` looks after."""
        return self.root / "running"

    def installed(self) -> dict[str, Any] | None:
        """What setup noted down: `build`, `requirements`, `python`, `version`. None where it did not get to its end."""
        if not self.marker.is_file() or not self.python.exists():
            return None
        noted: dict[str, Any] = json.loads(self.marker.read_text(encoding="utf-8"))
        return noted

    def require(self) -> dict[str, Any]:
        """What is installed. Raises `GymposiumError` with what to do where nothing is."""
        noted = self.installed()
        if noted is None:
            raise GymposiumError(
                f"There is no finished installation of vLLM in {self.root}. Make one with:  gymposium engine setup  "
                f"(or name another place in {HOME_VARIABLE})."
            )
        return noted


def engine_home(directory: Path | None = None) -> EngineHome:
    """The engine's home: `directory`, or what GYMPOSIUM_ENGINE_HOME names, or gymposium/engines/vllm in the user's
    data directory ($XDG_DATA_HOME, ~/.local/share)."""
    if directory is not None:
        return EngineHome(directory.expanduser().absolute())
    if named := os.environ.get(HOME_VARIABLE):
        return EngineHome(Path(named).expanduser().absolute())
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return EngineHome(data / "gymposium" / "engines" / "vllm")
