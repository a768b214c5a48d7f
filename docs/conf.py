"""Sphinx configuration. `tox run -e site` builds the site, and `tox run -e docs` checks it; a warning is an error."""

from __future__ import annotations

import gc
import os
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
gc.disable()  # until all pages are read, which makes hardly any garbage

import game_pages  # noqa: E402  (the line above makes these importable)
import module_index  # noqa: E402
import page_colors  # noqa: E402
import training_settings  # noqa: E402

project = "gymposium"
author = "The gymposium authors"
copyright = author
release = metadata.version("gymposium")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["examples"]
html_theme = "furo"
html_logo = html_favicon = "../packages/gymposium-viewer/src/gymposium_viewer/static/icon.svg"
html_title = f"gymposium {release}"
html_static_path = ["static"]
html_css_files = ["docs.css"]
_light, _dark = page_colors.css_variables()
html_theme_options = {"light_css_variables": _light, "dark_css_variables": _dark}

copybutton_prompt_text = "$ "  # copy the commands, without prompts and output
copybutton_line_continuation_character = "\\"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# The reference of agents and train is read from their source; the libraries below them need not be there.
autodoc_mock_imports = [
    "h11",
    "httpx",
    "huggingface_hub",
    "jinja2",
    "openai",
    "peft",
    "safetensors",
    "starlette",
    "tenacity",
    "tokenizers",
    "torch",
    "transformers",
    "uvicorn",
]
autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": True}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
default_role = "code"  # docstrings write code in single backticks


def code_after_colon(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn indented blocks after a colon in docstrings into code blocks."""
    text = "\n".join(lines)
    lines[:] = re.sub(r"(?m)(?<=[^:]):\n\n(?=    \S)", "::\n\n", text).split("\n")


def fill_in_settings(app: Any, page: str, source: list[str]) -> None:
    """Replace the marker on a page with tables of settings, generated from their schema."""
    if training_settings.HERE in source[0]:
        source[0] = source[0].replace(training_settings.HERE, training_settings.tables())


FILE = re.compile(r"(?m)^\[(\S+\.md)\]\((?:\.\./)+\1\)$")
"""A line that consists only of a link to a file outside docs, with its path in the repository as text."""
LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)\s]+)\)")


def fill_in_files(app: Any, page: str, source: list[str]) -> None:
    """Replace links to files outside docs, such as published results, with the text of the file. Readers of the
    Markdown follow the link instead."""

    def format_text(wanted: re.Match[str]) -> str:
        file = ROOT / wanted[1]

        def link(found: re.Match[str]) -> str:
            image, text, target = found.groups()
            path = (file.parent / target.partition("#")[0]).resolve()
            if "://" in target:
                return found[0]
            if image or path.is_relative_to(app.srcdir):
                return f"{image}[{text}]({os.path.relpath(path, Path(app.srcdir, page).parent)})"
            return f"{text} (`{path.relative_to(ROOT)}`)"

        _, _, body = file.read_text(encoding="utf-8").partition("\n")  # without its title
        return LINK.sub(link, body)

    source[0] = FILE.sub(format_text, source[0])


def link_modules(app: Any, page: str, source: list[str]) -> None:
    """On the site, link the index of modules to their documentation instead of their sources."""
    if page == "reference/modules":
        source[0] = module_index.SOURCE.sub(r"{py:mod}\1", source[0])


ENTRY = re.compile(r"(?m)^(?:- |\| )\[.+?\]\((?!\w+:)(\S+?)\.md\)")
"""A list item or table row that begins with a link to a page."""
ONLY_BUILT = {"- [Commands](reference/commands.md)\n": "- [The games](games/index.md)\n"}
"""Home page entries for pages that only the site has, by the entry that follows them."""


def list_pages(app: Any, page: str, source: list[str]) -> None:
    """Turn the lists of links on index pages into tables of contents."""
    if page.rpartition("/")[2] != "index":
        return
    if page == "index":
        for below, entry in ONLY_BUILT.items():
            source[0] = source[0].replace(below, entry + below)
    contents = []
    for part in source[0].split("\n## "):
        heading, _, text = part.partition("\n")
        if entries := ENTRY.findall(text):
            contents += ["```{toctree}", ":hidden:", f":caption: {heading.lstrip('# ')}", "", *entries, "```"]
    source[0] += "\n" + "\n".join(contents) + "\n"


def collect_garbage(app: Any, environment: Any) -> None:
    """Collect garbage from now on, without looking at what was read for it: that took half of the build's time."""
    gc.freeze()
    gc.enable()


def write_game_pages(app: Any) -> None:
    """Write the pages of the games."""
    game_pages.write_pages(Path(app.srcdir) / "games")


def setup(app: Any) -> None:
    app.connect("builder-inited", write_game_pages)
    app.connect("env-updated", collect_garbage)
    app.connect("source-read", fill_in_settings)
    app.connect("source-read", fill_in_files)
    app.connect("source-read", link_modules)
    app.connect("source-read", list_pages)
    app.connect("autodoc-process-docstring", code_after_colon)
