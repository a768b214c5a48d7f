"""Facts for a model card from a training run's directory: the games, the training, and the results.

Names of opponents, rewards and games are cut where a path, an address or options begin, because a card is public."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Any, Self

from gymposium.errors import GymposiumError
from gymposium.records import Problem
from gymposium.runs.results import ResultRow, build_rows, sum_stage_seconds
from gymposium.runs.run import Run

_TRAINED = ("adapter", "model")
"""The directories in a run that may hold the evaluated weights."""
_HARMLESS = re.compile(r"[\w., -]+(\([\w.=,; -]*\))?")
"""The pattern of a name or label with plain parameters or none, such as `go(board_size=5)`."""


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """Known facts about a model's training."""

    games: tuple[str, ...]
    """The games that the model was trained to play."""
    how: tuple[str, ...]
    """How the model was trained, one fact per entry."""
    rows: tuple[ResultRow, ...]
    """The results before and after training, if any."""

    @classmethod
    def around(cls, directory: Path) -> Self | None:
        """Return the facts from the run whose directory contains this model, or None if there is no such run."""
        inside = Path(realpath(directory))
        run = Run(inside.parent.name, inside.parent)
        files = (inside.parent / "config.json", inside.parent / "versions.json")
        return cls.in_run(run) if inside.name in _TRAINED and all(file.is_file() for file in files) else None

    @classmethod
    def in_run(cls, run: Run) -> Self:
        """Return the facts from a run. Raises `GymposiumError` if it cannot be read."""
        config, results, versions = map(_read, (run.config(), run.results(), run.versions()))
        games = tuple(map(_shorten_name, config["games"]))
        return cls(games, tuple(_describe_training(config, results, versions)), tuple(build_rows(config, results)))

    def format_table(self) -> str:
        """Return the results as a Markdown table, or an empty text without results."""
        if not self.rows:
            return ""
        head = (
            "| game | player | against | matches | win | draw | loss | mean return |\n|---|---|---|---|---|---|---|---|"
        )
        return "\n".join([head, *(f"| {' | '.join(_format_cells(row))} |" for row in self.rows)])


def _read(data: dict[str, Any] | Problem) -> dict[str, Any]:
    if isinstance(data, Problem):
        raise GymposiumError(str(data))
    return data


def _format_cells(row: ResultRow) -> tuple[str, ...]:
    names = map(_shorten_name, (row.game, row.player, row.opponent))
    return (*names, row.matches, row.win, row.draw, row.loss, row.mean_return)


def _describe_training(
    config: Mapping[str, Any], results: Mapping[str, Any], versions: Mapping[str, Any]
) -> Iterator[str]:
    opponents = dict.fromkeys(_shorten_name(name) for stage in config["stages"] for name in stage["opponents"])
    yield f"credit `{config['credit']['kind']}`, objective `{config['objective']['kind']}`"
    yield f"reward: `{_shorten_name(config['reward'])}`"
    if opponents:
        yield f"opponents: {', '.join(f'`{name}`' for name in opponents)}"
    if "kept_step" in results:
        yield f"steps: {results['kept_step']}"
    yield f"learning rate {config['optimizer']['learning_rate']:g}, seed {config['seed']}"
    if seconds := sum_stage_seconds(results):
        yield f"CPU seconds: {', '.join(f'{name} {value:.0f}' for name, value in seconds.items())}"
    yield f"with {', '.join(f'{name} {version}' for name, version in versions.items())}"


def _shorten_name(name: str) -> str:
    """Return a name unchanged if it consists of a kind and plain parameters, else its beginning."""
    kind = re.match(r"[\w.-]+", name)
    return name if _HARMLESS.fullmatch(name) else f"{kind[0] if kind else ''}…"
