"""Real installed distributions in a temporary folder."""

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Install = Callable[..., None]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture
def install(site: Path) -> Iterator[Install]:
    """`install(name, source, **more modules)`: a distribution `name-dist` with the entry point `name`."""
    written: set[str] = set()

    def write(name: str, source: str, **modules: str) -> None:
        info = site / f"{name}_dist-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-dist\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[gymposium]\n{name} = {name}_module\n")
        for module, text in {f"{name}_module": source, **modules}.items():
            (site / f"{module}.py").write_text(textwrap.dedent(text))
            written.add(module)

    yield write
    for module in written:
        sys.modules.pop(module, None)
