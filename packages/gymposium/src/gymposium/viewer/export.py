"""The pages as files: to be opened from a disk, or put on any web server."""

from __future__ import annotations

from pathlib import Path

from gymposium.errors import BadOption
from gymposium.viewer.app import home_page, view
from gymposium.viewer.files import copy_static, write_page


def export(directory: Path, out: Path) -> None:
    """Write every page of what is in `directory` below `out`, which must be empty or not there."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadOption(f"--export {out}: give a folder that is empty or not there yet.")
    out.mkdir(parents=True, exist_ok=True)
    viewer = view(directory, live=False)
    copy_static(out)
    for part in viewer.parts:
        part.export(out)
    write_page(out, "index.html", home_page(viewer))
