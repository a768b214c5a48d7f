"""The viewer part that shows training runs: curves, rollouts token by token, evaluations.

`run_page.render_report` makes a standalone page for one run. It needs none of the server's libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gymposium_viewer.part import Part, Viewer

__all__ = ["make"]


def make(viewer: Viewer) -> Part:
    """Return the viewer part that shows training runs."""
    from gymposium_viewer.training.pages import TrainingPart

    return TrainingPart(viewer)
