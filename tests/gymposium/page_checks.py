"""Checks of rendered pages: contrast, overflow, blank length, and the findings of axe-core."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = "GYMPOSIUM_AXE"
"""Environment variable with the path of `axe.min.js`, from npm's axe-core."""

WIDTHS, HEIGHT = (1440, 390), 800
"""Sizes of the screens of a desk and of a phone."""

TEXT, BORDER = 4.5, 3.0
"""Least contrast of text and of the borders of what can be operated."""

_FAINT = """
([text, border]) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((one, i) => one * a + below[i] * (1 - a));
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((one) => one / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const off = (element) => element.closest(":disabled, [aria-disabled=true], .sr, iframe");
  const found = new Set();
  const check = (what, element, color, below, least) => {
    const has = contrast(over(rgba(color), below), below);
    const name = element.className.baseVal ?? element.className;
    if (has < least - 0.005) found.add(`${what} ${has.toFixed(2)}: ${element.tagName} ${name}`);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || off(element) || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest("script, style, noscript")) continue;
    const style = getComputedStyle(element);
    check("text", element, element.closest("svg") ? style.fill : style.color, ground(element), text);
  }
  for (const element of document.querySelectorAll("input, select, textarea, button, .button, kbd")) {
    const style = getComputedStyle(element);
    if (off(element) || !element.checkVisibility() || !Number.parseFloat(style.borderTopWidth)) continue;
    if (["checkbox", "radio", "range"].includes(element.type) || rgba(style.borderTopColor)[3] === 0) continue;
    check("border", element, style.borderTopColor, ground(element.parentElement), border);
  }
  return [...found];
}
"""
"""Script that returns the texts and borders that are too faint."""

_AXE_RUN = """
async () => {
  const found = await axe.run(document, { resultTypes: ["violations"], iframes: false, preload: false });
  return found.violations
    .filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}
"""


_TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Script that waits until what follows a change of the screen's size has been drawn."""


def faint(page: Page) -> list[str]:
    """The shown texts and borders of a page without enough contrast."""
    return list(page.evaluate(_FAINT, [TEXT, BORDER]))


def findings(page: Page) -> list[str]:
    """The serious and critical findings of axe-core; none if axe-core is not there."""
    script = Path(os.environ.get(AXE, ""))
    if not script.is_file():
        return []
    page.evaluate(script.read_text(encoding="utf-8"))
    return list(page.evaluate(_AXE_RUN))


def size(page: Page) -> tuple[int, int, float]:
    """The scrollable width and height of a page, and the end of its content."""
    width, height, end = page.evaluate(
        "() => { const all = document.documentElement, main = document.querySelector('main');"
        " return [all.scrollWidth, all.scrollHeight, main.getBoundingClientRect().bottom + scrollY]; }"
    )
    return width, height, end


def troubles(page: Page) -> list[str]:
    """Everything that is wrong with how a page is shown on a desk and on a phone, in light and in dark."""
    found: list[str] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            page.evaluate(_TWO_FRAMES)
            wide, high, end = size(page)
            wrong = faint(page)
            if wide > width:
                wrong.append(f"the page is {wide} wide")
            if high > max(end, HEIGHT) + 1:
                wrong.append(f"the content ends at {end:.0f} of {high}")
            found += [f"{scheme}, {width} wide: {one}" for one in wrong]
        found += [f"{scheme}: {one}" for one in findings(page)]
    return found
