"""The report of a run: its page in the viewer, in one HTML file."""

from __future__ import annotations

from gymposium.durable import replace_text
from gymposium.viewer.training.run_page import report_page
from gymposium_train.directory import RunDirectory


def write_report(directory: RunDirectory) -> None:
    """Write `report.html` from the files of the run directory."""
    replace_text(directory.report, report_page(directory.path))
