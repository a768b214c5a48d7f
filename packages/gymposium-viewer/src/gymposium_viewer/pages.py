"""Rendering of pages from templates. All inserted text is escaped, and its control characters are made visible."""

from __future__ import annotations

import json
import re
import shutil
import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gymposium.util.visible import visible
from gymposium_viewer.titles import game_title, seat_class, seat_title

_VIEWER = "gymposium_viewer"

STATIC = Path(__file__).parent / "static"
"""Folder with the stylesheets and scripts of all pages."""

_THREE_WORDS = re.compile(r"[A-Za-z]{2,}[,;:]? [A-Za-z]{2,}[,;:]? [A-Za-z]{2,}\b")

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'"
)
"""Content security policy of all pages. It allows inline styles because a board's frame inherits it."""


@dataclass(frozen=True, slots=True)
class Tab:
    """A link at the top of every page."""

    title: str
    path: str


def render_page(
    template: str,
    path: str,
    tabs: Sequence[Tab] = (),
    package: str = _VIEWER,
    *,
    live: bool = False,
    **values: Any,
) -> str:
    """Render the page at `path`, relative to the root of the site: `matches/run.jsonl/17.html`.

    Besides `values`, a template gets `path`, `tabs`, `live` and `root`. `live` is True if a server answers; a page in a
    file contains its content policy. `root` is the prefix of every link: `{{ root }}static/base.css`. `package` is the
    Python package whose folder `templates` has the template; the viewer's templates are available to all packages."""
    root, policy = "../" * path.count("/"), None if live else CONTENT_POLICY
    page = _make_environment(package).get_template(template)
    return page.render(path=path, root=root, tabs=tabs, live=live, policy=policy, **values)


def extract_main(html: str) -> str:
    """Return a rendered page's content, without head and navigation links."""
    return html.partition("<main")[2].partition(">")[2].rpartition("</main>")[0].strip()


def pack_script(value: Any) -> str:
    """Return a script that holds a compressed value for `exported.js`.

    It is a script because browsers load nothing else from disk."""
    compressed = zlib.compress(json.dumps(value, separators=(",", ":"), allow_nan=False).encode(), 9)
    return f'var gymposiumPacked = "{b64encode(compressed).decode("ascii")}";\n'


def inline_assets(html: str) -> str:
    """Inline the stylesheets, scripts and icon of a page at the root of a site.

    The page's policy allows only these scripts."""
    styles = re.compile(r'<link rel="stylesheet" href="static/([^"]+)">')
    scripts = re.compile(r'<script src="static/([^"]+)" defer></script>\n?')
    programs = [(STATIC / name).read_text(encoding="utf-8") for name in scripts.findall(html)]
    allowed = " ".join(f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in programs)
    html = html.replace(
        str(escape(CONTENT_POLICY)), CONTENT_POLICY.replace("script-src 'self'", f"script-src {allowed}")
    )
    html = styles.sub(lambda found: f"<style>\n{(STATIC / found[1]).read_text(encoding='utf-8')}</style>", html)
    icon = f"data:image/svg+xml,{quote((STATIC / 'icon.svg').read_text(encoding='utf-8'))}"
    html = scripts.sub("", html).replace('"static/icon.svg"', f'"{icon}"')
    inside = "".join(f"<script>{one}</script>\n" for one in programs)  # run at the end, like deferred scripts
    return html.replace("</body>", f"{inside}</body>")


@lru_cache
def _make_environment(package: str) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((_VIEWER, package))]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_make_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "in_url": quote_path,
        "data": embed_json,
        "shortened": shorten,
        "game_title": game_title,
        "seat_class": seat_class,
        "seat_title": seat_title,
    }
    environment.tests["prose"] = is_prose
    return environment


def _make_visible(value: Any) -> Any:
    """Make inserted text visible, including the results of filters."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def quote_path(path: str) -> str:
    """Quote a path for a link."""
    return quote(path, errors="surrogatepass")


def embed_json(value: Any) -> Markup:
    """Return a value as JSON that is safe inside `<script type="application/json">`. Control characters are kept,
    because scripts insert the text as `textContent`."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII, so that lone surrogates survive
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def format_json(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON for a page."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent)
    except RecursionError:  # from hundreds of nested brackets
        return "(too deeply nested to show)"


def shorten(text: str, limit: int = 20_000) -> str:
    """Shorten a text that is longer than `limit`, replacing its middle with the number of omitted characters."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    return f"{text[:head]}\n\n[… {len(text) - head - tail:,} characters omitted …]\n\n{text[-tail:]}"


def is_prose(line: str) -> bool:
    """Guess whether a line is prose, which may wrap, rather than part of a board, table or program."""
    return (line[:1].isupper() or line.startswith("- ")) and "  " not in line and _THREE_WORDS.search(line) is not None


def copy_static(out: Path) -> None:
    """Copy the stylesheets and scripts of all pages to `out/static`."""
    shutil.copytree(STATIC, out / "static", dirs_exist_ok=True)


def write_page(out: Path, path: str, html: str) -> None:
    """Write one page at its path below `out`."""
    file = out / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(html, encoding="utf-8")
