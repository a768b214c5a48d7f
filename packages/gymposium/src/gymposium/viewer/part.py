"""The parts of the viewer: their protocol, and the viewer that holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gymposium.viewer.pages import Tab, render

if TYPE_CHECKING:
    from starlette.routing import BaseRoute


@dataclass(frozen=True, slots=True)
class Card:
    """An entry of the first page about one part."""

    title: str
    path: str
    """The path of the page that it links to."""
    lines: Sequence[str]
    invites: bool = False
    """True if it links to something to do instead of something to read."""


class Part(Protocol):
    """One kind of pages: matches, training runs, play. Its package has a function `make(viewer) -> Part`.

    A part reads its files again for each request, because they may grow meanwhile."""

    @property
    def tabs(self) -> Sequence[Tab]:
        """The links at the head of every page."""
        ...

    def cards(self) -> Sequence[Card]:
        """The entries of the first page; none if the directory has nothing for this part."""
        ...

    def routes(self) -> Sequence[BaseRoute]:
        """The routes of its pages. Endpoints that are plain functions are called in threads of their own."""
        ...

    def export(self, out: Path) -> None:
        """Writes its pages below `out`, each at its path."""
        ...


@dataclass(slots=True)
class Viewer:
    """The viewer of one directory."""

    directory: Path
    live: bool = True
    """True if a server answers. Otherwise the pages are files, without anything that needs a server."""
    parts: list[Part] = field(default_factory=list)
    link_to_match: Callable[[str], str | None] = lambda match_id: None
    """From a match id to the path of its page, quoted for a link; None if the match has no page."""
    exports: Callable[[str, str], bool] = lambda file, match_id: True
    """From the path of a file and a match id to whether an export has a page for the match."""

    def page(self, template: str, path: str, **values: Any) -> str:
        """A page with the tabs of all parts."""
        tabs = [tab for part in self.parts for tab in part.tabs]
        return render(template, path, tabs, live=self.live, **values)


Make = Callable[[Viewer], Part]
