"""The part of the viewer that shows training runs: curves, rollouts token by token, evaluations.

`run_page.report_page` makes the page of one run alone. It needs none of the server's libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gymposium_viewer.part import Part, Viewer

__all__ = ["make"]


def make(viewer: Viewer) -> Part:
    """The part of the viewer that shows training runs."""
    from gymposium_viewer.training.pages import Training

    return Training(viewer)
