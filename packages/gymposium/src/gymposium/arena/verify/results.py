"""results.json against the results that the records give."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from gymposium.arena.board import Board
from gymposium.arena.results.file import read_results, results_file, results_of
from gymposium.arena.verify.files import read_plain
from gymposium.arena.verify.findings import Finding, ResultsState
from gymposium.errors import GymposiumError

_SHOWN = 12


def check_results(board: Board) -> tuple[ResultsState, list[Finding]]:
    """Make the results again and compare every figure."""
    path = results_file(board)
    if not path.exists():
        return "absent", []
    try:
        read_plain(path)
        there = read_results(path)
        again = results_of(board)
    except GymposiumError as error:
        return "differ", [Finding("results", path.name, str(error))]
    differing = list(islice(_differences("", there.model_dump(mode="json"), again.model_dump(mode="json")), _SHOWN + 1))
    findings = [Finding("results", path.name, what) for what in differing[:_SHOWN]]
    if len(differing) > _SHOWN:
        findings.append(Finding("results", path.name, "and more"))
    return ("differ" if findings else "agree"), findings


def _differences(where: str, there: Any, again: Any) -> Any:
    """Places in the file where it says something else, with both values."""
    if isinstance(there, dict) and isinstance(again, dict) and there.keys() == again.keys():
        for key in there:
            yield from _differences(f"{where}.{key}".lstrip("."), there[key], again[key])
    elif isinstance(there, list) and isinstance(again, list) and len(there) == len(again):
        for index, (one, other) in enumerate(zip(there, again)):
            yield from _differences(f"{where}.{index}", one, other)
    elif there != again:
        yield f"{where} is {_short(there)}, but the records give {_short(again)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
