"""The directory of a vLLM installation: its virtual environment, the logs of its servers, and notes of those that
run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import strict_json
from gymposium_agents.modeling.user_data import data_directory

HOME_VARIABLE = "GYMPOSIUM_ENGINE_HOME"


@dataclass(frozen=True, slots=True)
class EngineHome:
    """A directory that holds one installation of vLLM."""

    root: Path
    """The path of the directory."""

    @property
    def environment(self) -> Path:
        """The directory of the virtual environment."""
        return self.root / "venv"

    @property
    def python(self) -> Path:
        """The Python interpreter of the virtual environment."""
        return self.environment / "bin" / "python"

    @property
    def marker(self) -> Path:
        """The file that setup writes last; without it the installation is incomplete."""
        return self.root / "complete.json"

    @property
    def logs(self) -> Path:
        """The directory of the servers' logs."""
        return self.root / "logs"

    @property
    def running(self) -> Path:
        """The directory of notes, one file for each server that `gymposium engine start` runs."""
        return self.root / "running"

    def installed(self) -> dict[str, Any] | None:
        """Read the contents of the marker: `build`, `requirements`, `python` and `version`. None if the installation is
        incomplete."""
        if not self.marker.is_file() or not self.python.exists():
            return None
        contents: dict[str, Any] = strict_json(read_plain_text(self.marker))
        return contents

    def require(self) -> dict[str, Any]:
        """Read the contents of the marker. Raises `GymposiumError` with what to do if the installation is
        incomplete."""
        contents = self.installed()
        if contents is None:
            raise GymposiumError(
                f"There is no finished installation of vLLM in {self.root}. Make one with:  gymposium engine setup  "
                f"(or name another place in {HOME_VARIABLE})."
            )
        return contents


def engine_home(directory: Path | None = None) -> EngineHome:
    """The engine's home: `directory`, else the one that GYMPOSIUM_ENGINE_HOME names, else gymposium/engines/vllm in the
    user's data directory ($XDG_DATA_HOME, ~/.local/share)."""
    if named := directory or os.environ.get(HOME_VARIABLE):
        return EngineHome(Path(named).expanduser().absolute())
    return EngineHome(data_directory() / "engines" / "vllm")
