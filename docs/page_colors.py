"""The colors and fonts of gymposium's pages, as variables for this documentation's theme."""

from __future__ import annotations

import re
from pathlib import Path

CSS = Path(__file__).parents[1] / "packages/gymposium-viewer/src/gymposium_viewer/static/base.css"
OF_THEME = {
    "color-background-primary": "ground",
    "color-background-secondary": "raised",
    "color-background-hover": "sunken",
    "color-background-border": "line",
    "color-foreground-primary": "ink",
    "color-foreground-secondary": "quiet",
    "color-foreground-muted": "quiet",
    "color-foreground-border": "line-strong",
    "color-brand-primary": "link",
    "color-brand-content": "link",
    "color-brand-visited": "link",
    "color-highlight-on-target": "mark",
    "color-table-header-background": "sunken",
    "color-table-border": "line",
    "color-inline-code-background": "sunken",
    "font-stack": "sans",
    "font-stack--headings": "sans",
    "font-stack--monospace": "mono",
}
"""Variables of the theme furo, and their names in `base.css`."""


def css_variables() -> tuple[dict[str, str], dict[str, str]]:
    """Return the theme's variables for light and for dark screens. Raises `KeyError` if `base.css` lacks one."""
    light, dark = (
        dict(re.findall(r"--([\w-]+): (.+?);", block))
        for block in re.findall(r":root \{(.*?)\}", CSS.read_text(encoding="utf-8"), re.DOTALL)
    )
    both = light | dark  # fonts are the same
    return {name: light[ours] for name, ours in OF_THEME.items()}, {name: both[ours] for name, ours in OF_THEME.items()}
