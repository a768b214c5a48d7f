"""The directory of a vLLM installation: its virtual environment, its servers' logs, and notes of running servers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium_agents.modeling.user_data import find_data_directory

HOME_VARIABLE = "GYMPOSIUM_ENGINE_HOME"


@dataclass(frozen=True, slots=True)
class EngineHome:
    """A directory with one installation of vLLM."""

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
        """The file that setup writes last. Without it, the installation is incomplete."""
        return self.root / "complete.json"

    @property
    def logs(self) -> Path:
        """The directory of the servers' logs."""
        return self.root / "logs"

    @property
    def running(self) -> Path:
        """The directory of notes, one file per server run by `gymposium engine start`."""
        return self.root / "running"

    def installed(self) -> dict[str, Any] | None:
        """Read the contents of the marker: `build`, `requirements`, `python` and `version`. Returns None if the
        installation is incomplete."""
        if not self.marker.is_file() or not self.python.exists():
            return None
        contents: dict[str, Any] = parse_strict_json(read_plain_text(self.marker))
        return contents

    def require(self) -> dict[str, Any]:
        """Read the contents of the marker. Raises `GymposiumError` with the fix if the installation is incomplete."""
        contents = self.installed()
        if contents is None:
            raise GymposiumError(
                f"There is no complete installation of vLLM in {self.root}. Install it with:  gymposium engine setup  "
                f"(or name another directory in {HOME_VARIABLE})"
            )
        return contents


def find_engine_home(directory: Path | None = None) -> EngineHome:
    """Return the engine's home: `directory`, or else GYMPOSIUM_ENGINE_HOME. The default is gymposium/engines/vllm in
    the user's data directory ($XDG_DATA_HOME, ~/.local/share)."""
    if named := directory or os.environ.get(HOME_VARIABLE):
        return EngineHome(Path(named).expanduser().absolute())
    return EngineHome(find_data_directory() / "engines" / "vllm")
