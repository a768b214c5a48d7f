"""The page of a training run, for the viewer and as a single file: the run's report."""

from __future__ import annotations

from dataclasses import replace
from os.path import realpath
from pathlib import Path
from typing import Any

from gymposium.runs.curves import Curves
from gymposium.runs.metric_docs import load_metrics
from gymposium.runs.run import Run
from gymposium.runs.samples import SamplesIndex
from gymposium_viewer.pages import inline_assets, render_page
from gymposium_viewer.training.library import OpenRun
from gymposium_viewer.training.run_view import FINISHED, dump_learning_curves, view_run

WORDS = [(m.pattern, m.section, m.what, m.unit, m.apart) for m in load_metrics()]
"""Descriptions of metrics, for the pages' script."""


def make_run_values(opened: OpenRun) -> dict[str, Any]:
    """Return the template values that depend on the run."""
    return {
        "name": opened.run.name,
        "view": view_run(opened),
        "words": WORDS,
        "curves": make_curves_data(opened),
        "offset": opened.curves.offset,
    }


def make_curves_data(opened: OpenRun) -> dict[str, Any]:
    """Return the data of all curves of a run, for the pages' script."""
    curves = opened.curves
    return {
        "run": opened.run.name,
        "stages": {stage: curves.curve(stage).as_data() for stage in curves.stages()},
        "evaluation": dump_learning_curves(opened),
    }


def render_report(directory: Path) -> str:
    """Render a finished run as one file, without token-level rollouts and matches."""
    run = Run(Path(realpath(directory)).name, directory)
    opened = OpenRun(run, Curves(run.metrics), SamplesIndex(run.samples)).refresh()
    values = make_run_values(opened)
    view = values["view"]
    values["view"] = replace(view, summary=replace(view.summary, state=FINISHED))  # writing the report finishes the run
    page = render_page(
        "training/run.html", "report.html", **values, rollouts=None, sessions=None, events=None, alone=True
    )
    return inline_assets(page)
