"""Pages as files."""

from __future__ import annotations

import shutil
from pathlib import Path

STATIC = Path(__file__).parent / "static"
"""The styles and scripts of all pages."""


def copy_static(out: Path) -> None:
    """The styles and scripts that pages below `out` refer to."""
    shutil.copytree(STATIC, out / "static", dirs_exist_ok=True)


def write_page(out: Path, path: str, html: str) -> None:
    """One page, at its path below `out`."""
    file = out / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(html, encoding="utf-8")
