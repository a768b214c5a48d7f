"""A checkout of the repository: a folder that is there already, or a git revision unpacked into a temporary one."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CASES = Path("benchmarks/same/cases")
COMMON = "common"
ROOT = Path(__file__).resolve().parents[2]


class NoCheckout(Exception):
    """Error for a name that is not a checkout of this repository."""


def checkout(name: str, scratch: Path) -> Path:
    """Return the folder of a checkout. A git revision is unpacked into `scratch`.

    Raises `NoCheckout` if the name is neither.
    """
    if Path(name).is_dir():
        folder = Path(name).resolve()
    else:
        archive = subprocess.run(["git", "-C", ROOT, "archive", name], capture_output=True, check=False)
        if archive.returncode:
            raise NoCheckout(f"{name} is neither a folder nor a git revision: {archive.stderr.decode().strip()}")
        folder = scratch.resolve()
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
    if not (folder / "packages/gymposium/src").is_dir():
        raise NoCheckout(f"{name} holds no packages/gymposium/src, so it is no checkout of gymposium.")
    return folder


def sources(folder: Path) -> list[Path]:
    """Return the folders of a checkout that Python imports from."""
    return sorted([*folder.glob("packages/*/src"), *folder.glob("plugins/*/src")])


def cases(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the configs of a checkout by name, each with the settings that all share. Raises `NoCheckout` if it has
    none."""
    files = {file.stem: file for file in sorted((folder / CASES).glob("*.toml"))}
    if COMMON not in files:
        raise NoCheckout(
            f"{folder} has no {CASES}. Name a checkout whose cases are spelled as its settings are, with --old-cases."
        )
    common = _read(files.pop(COMMON))
    return {name: merged(common, _read(file)) for name, file in files.items()}


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return two nested tables merged. If both have a value, that of `above` wins."""
    tables = {
        name: merged(below[name], value)
        for name, value in above.items()
        if isinstance(value, dict) and isinstance(below.get(name), dict)
    }
    return {**below, **above, **tables}


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))
