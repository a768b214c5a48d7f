"""Compare `results.json` with recomputed results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from gymposium.errors import GymposiumError
from gymposium_arena.board import Board
from gymposium_arena.results.file import compute_results, read_results, results_file
from gymposium_arena.verify.files import check_plain
from gymposium_arena.verify.findings import Finding, ResultsState

_MAX_SHOWN = 12
"""Maximum number of listed differences."""


def check_results(board: Board) -> tuple[ResultsState, list[Finding]]:
    """Recompute the results and compare every figure."""
    path = results_file(board)
    if not path.exists():
        return "absent", []
    try:
        check_plain(path)
        stored, again = (results.model_dump(mode="json") for results in (read_results(path), compute_results(board)))
    except GymposiumError as error:
        return "differ", [Finding("results", path.name, str(error))]
    differences = list(islice(_find_differences("", stored, again), _MAX_SHOWN + 1))
    if len(differences) > _MAX_SHOWN:
        differences[_MAX_SHOWN] = "and more"
    findings = [Finding("results", path.name, what) for what in differences]
    return ("differ" if findings else "agree"), findings


def _find_differences(where: str, stored: Any, again: Any) -> Iterator[str]:
    """Yield a description of each difference between two JSON values."""
    if isinstance(stored, dict) and isinstance(again, dict) and stored.keys() == again.keys():
        for key in stored:
            yield from _find_differences(f"{where}.{key}".lstrip("."), stored[key], again[key])
    elif isinstance(stored, list) and isinstance(again, list) and len(stored) == len(again):
        for index, (one, other) in enumerate(zip(stored, again)):
            yield from _find_differences(f"{where}.{index}", one, other)
    elif stored != again:
        yield f"{where} is {_shorten(stored)}, but the records give {_shorten(again)}"


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
