"""What the viewer is made of."""

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
    """What the first page says of a part."""

    title: str
    path: str
    """Where it leads."""
    lines: Sequence[str]
    invites: bool = False
    """Whether it leads to something to do, not to something that is there."""


class Part(Protocol):
    """One kind of thing to look at: matches, training runs. Its package has `make(viewer) -> Part`.

    Whatever it reads, it looks at again when it is asked, for files grow while they are looked at."""

    @property
    def tabs(self) -> Sequence[Tab]:
        """What stands at the head of every page."""
        ...

    def cards(self) -> Sequence[Card]:
        """What the first page says of it; nothing where the directory holds nothing of its kind."""
        ...

    def routes(self) -> Sequence[BaseRoute]:
        """Its pages. Endpoints that are plain functions are called in threads of their own."""
        ...

    def export(self, out: Path) -> None:
        """Write its pages below `out`, each at its path."""
        ...


@dataclass(slots=True)
class Viewer:
    """One directory that is looked at."""

    directory: Path
    live: bool = True
    """Whether a server answers; otherwise the pages are files, and whatever asks a server stays away."""
    parts: list[Part] = field(default_factory=list)
    link_to_match: Callable[[str], str | None] = lambda match_id: None
    """The path of the page of the match with this id, as it stands in a link; None where there is none."""
    exports: Callable[[str, str], bool] = lambda file, match_id: True
    """Whether a match gets a page among the pages that are files, by its file's path and its id."""

    def page(self, template: str, path: str, **values: Any) -> str:
        """A page with the tabs of all parts. Its template has `live`, too."""
        tabs = [tab for part in self.parts for tab in part.tabs]
        return render(template, path, tabs, live=self.live, **values)


Make = Callable[[Viewer], Part]
