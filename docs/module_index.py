"""An index of the documented modules that links to their sources, for readers of the clone.

`python docs/module_index.py` writes `docs/reference/modules.md`; a test checks that the page is current.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "reference" / "modules.md"
DIRECTIVE = re.compile(r"(?m)^\.\. auto(?:module|class|function|data|exception):: ([\w.]+)")
SOURCE = re.compile(r"\[(`[\w.]+`)\]\((?:\.\./)+(?:packages|plugins)/\S+\.py\)")
"""A link from the page to a source file. The site links to the module's documentation instead."""


def write_page() -> None:
    """Write the page into the documentation."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the page's Markdown: for each distribution, a table of its documented modules."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    described = _described()
    yield "# Modules\n"
    yield "Each documented module links to its source. Signatures and docstrings are there, and on the built site."
    package = ""
    for module in sorted(described):
        if module.partition(".")[0] != package:
            package = module.partition(".")[0]
            yield f"\n## {package}\n"
            yield "| module | contents | page |\n|---|---|---|"
        links = ", ".join(map(_link, described[module]))
        yield f"| [`{module}`](../../{_path(module)}) | {_summary(module)} | {links} |"
    yield ""


def _described() -> dict[str, list[Path]]:
    """Return the pages that describe each module."""
    described: dict[str, list[Path]] = {}
    for file in sorted(DOCS.rglob("*.md")):
        for name in DIRECTIVE.findall(file.read_text(encoding="utf-8")):
            pages = described.setdefault(_module(name), [])
            shown = file.parent / "index.md" if file.parent.name == "hooks" else file  # one link for all hooks
            if shown not in pages:
                pages.append(shown)
    return described


def _module(name: str) -> str:
    """Return the module that defines a documented name."""
    parts = name.split(".")
    module = next(found for end in range(len(parts), 0, -1) if _file(found := ".".join(parts[:end])))
    for node in _tree(module).body:
        imported = {alias.asname or alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else set()
        if isinstance(node, ast.ImportFrom) and node.module and name.removeprefix(f"{module}.") in imported:
            return node.module
    return module


@cache
def _file(module: str) -> Path | None:
    path = module.replace(".", "/")
    found = [*ROOT.glob(f"p*/*/src/{path}.py"), *ROOT.glob(f"p*/*/src/{path}/__init__.py")]
    return found[0] if found else None


def _path(module: str) -> str:
    file = _file(module)
    assert file
    return file.relative_to(ROOT).as_posix()


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((ROOT / _path(module)).read_text(encoding="utf-8"))


def _summary(module: str) -> str:
    """Return the first sentence of the module's docstring, as a cell of a table."""
    first = " ".join((ast.get_docstring(_tree(module)) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s(?=[A-Z`])", first)[0].removesuffix(".").replace("|", "\\|")


def _link(file: Path) -> str:
    title = file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    target = file.relative_to(DOCS).as_posix()
    return f"[{title}]({target.removeprefix('reference/') if target.startswith('reference/') else '../' + target})"


if __name__ == "__main__":
    write_page()
