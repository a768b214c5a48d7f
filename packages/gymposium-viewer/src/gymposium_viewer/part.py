"""The protocol for the viewer's parts, and the viewer that contains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gymposium_viewer.pages import Tab, render_page

if TYPE_CHECKING:
    from starlette.routing import BaseRoute


@dataclass(frozen=True, slots=True)
class Card:
    """An entry on the first page, which links to a part's page."""

    title: str
    path: str
    """The path of the linked page."""
    lines: Sequence[str]
    is_interactive: bool = False
    """True if the page is for actions, such as playing, rather than results."""


class Part(Protocol):
    """One kind of pages, such as those for matches or training runs, created from a `Viewer`.

    A part rereads its files at each request, because they may grow."""

    @property
    def tabs(self) -> Sequence[Tab]:
        """Return the links at the top of every page."""
        ...

    def cards(self) -> Sequence[Card]:
        """Return the part's entries on the first page; empty if the folder has nothing for this part."""
        ...

    def routes(self) -> Sequence[BaseRoute]:
        """Return the routes of the part's pages. Endpoints that are plain functions are called in a thread pool."""
        ...

    def export(self, out: Path) -> None:
        """Write the part's pages below `out`, each at its path."""
        ...


@dataclass(slots=True)
class Viewer:
    """A viewer of one folder."""

    directory: Path
    live: bool = True
    """True if a server answers requests; False for exported files."""
    parts: list[Part] = field(default_factory=list)
    link_to_match: Callable[[str], str | None] = lambda match_id: None
    """Function of a match id. Returns the path of the match's page, quoted for a link, or None if it has no page."""
    link_to_line: Callable[[str, int], str | None] = lambda file, line: None
    """Like `link_to_match`, but takes a record file's path and a line number."""
    is_exported: Callable[[str, str], bool] = lambda file, match_id: True
    """Function of a record file's path and a match id. Returns whether an export has a page for the match."""
    link_to_tokens: Callable[[str, str], str | None] = lambda file, match_id: None
    """Function of a record file's path and a match id.

    Returns the path of the page with the match's tokens, quoted for a link.

    Returns None if the tokens were not kept."""

    def page(self, template: str, path: str, **values: Any) -> str:
        """Render a page with the tabs of all parts."""
        tabs = [tab for part in self.parts for tab in part.tabs]
        return render_page(template, path, tabs, live=self.live, **values)
