"""The folder for a match that has its own server: a copy of the initial files."""

from __future__ import annotations

import json
import shutil
from os.path import realpath
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

from gymposium.errors import GymposiumError
from gymposium_mcp.settings import MATCH, WORLD, WorldSettings


class MatchFolder:
    """A new folder that exists until `delete`."""

    def __init__(self, settings: WorldSettings, path: Path) -> None:
        self._settings = settings
        self.path = path

    @classmethod
    def make(cls, settings: WorldSettings) -> Self:
        """Create the folder and copy the files. Links are replaced by copies. Raises `GymposiumError` on failure."""
        folder = cls(settings, Path(realpath(mkdtemp(prefix="gymposium-match-"))))
        if settings.server.files:
            try:
                shutil.copytree(settings.folder / settings.server.files, folder.path, dirs_exist_ok=True)
            except (OSError, shutil.Error) as error:
                folder.delete()
                raise GymposiumError(
                    f"{settings.path}, [server]: cannot copy the folder files = {settings.server.files!r} for a match "
                    f"({error}). Name a readable folder."
                ) from error
        return folder

    @property
    def command(self) -> tuple[str, ...]:
        """Return the command of the match's server."""
        world = str(self._settings.folder)
        return tuple(
            part.replace(WORLD, world).replace(MATCH, str(self.path)) for part in self._settings.server.command
        )

    def hide(self, text: str) -> str:
        """Return the text with the folder's path, which differs between matches, replaced by `.`."""
        return text.replace(str(self.path), ".")

    def hide_in(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return a server message with the folder's path replaced by `.` in all texts."""
        shown: dict[str, Any] = json.loads(json.dumps(answer).replace(json.dumps(str(self.path))[1:-1], "."))
        return shown

    def delete(self) -> None:
        """Delete the folder. Files still being written by a server's children are not an error."""
        shutil.rmtree(self.path, ignore_errors=True)
