"""From a template to a page. Everything that a template puts in is escaped and made visible, whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gymposium.viewer.text import is_prose, shortened
from gymposium.viewer.titles import game_title, seat_class, seat_title
from gymposium.visible import visible

_VIEWER = "gymposium.viewer"

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'"
)
"""What a page may do. Styles may stand in the page, for a board in its frame takes this policy over."""


@dataclass(frozen=True, slots=True)
class Tab:
    """A link that stands at the head of every page."""

    title: str
    path: str


def render(
    template: str,
    path: str,
    tabs: Sequence[Tab] = (),
    package: str = _VIEWER,
    *,
    live: bool = False,
    **values: Any,
) -> str:
    """The page of this path, relative to where the viewer's pages begin: `matches/run.jsonl/17.html`. Beside `values` a
    template has `path`, `tabs`, `live` (whether a server answers; a page that is a file carries its policy in itself),
    and `root`, which stands before every link: `{{ root }}static/base.css`.

    `package` is where the template stands, in a folder `templates`; the viewer's own are there for all."""
    root, policy = "../" * path.count("/"), None if live else CONTENT_POLICY
    page = _environment(package).get_template(template)
    return page.render(path=path, root=root, tabs=tabs, live=live, policy=policy, **values)


@lru_cache
def _environment(package: str) -> Environment:
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((_VIEWER, package))]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"in_url": in_url, "data": data, "shortened": shortened}
    made.filters |= {"game_title": game_title, "seat_class": seat_class, "seat_title": seat_title}
    made.tests["prose"] = is_prose
    return made


def _shown(value: Any) -> Any:
    """Of every text that a template puts in, also of one that a filter made."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def in_url(path: str) -> str:
    """A path as it stands in a link."""
    return quote(path, errors="surrogatepass")


def data(value: Any) -> Markup:
    """A value as JSON for `<script type="application/json">`, where no text can end the element. Unlike all else it is
    not made visible: a script that shows it puts it in with `textContent`."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII: half a surrogate pair survives
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
