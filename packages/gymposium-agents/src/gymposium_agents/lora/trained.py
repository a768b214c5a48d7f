"""What the directory of a training run tells a model card: the games, how the model was trained, and what was measured.

Names of opponents, rewards and games are cut off where a path, an address or options begin: a card is public."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from gymposium.errors import GymposiumError
from gymposium.records import Problem
from gymposium.runs.results import ResultRow, lines, spent
from gymposium.runs.run import Run

_TRAINED = ("adapter", "model")
"""The directories of a run that hold what its results measured."""
_HARMLESS = re.compile(r"[\w., -]+(\([\w.=,; -]*\))?")
"""A name or label with plain parameters at most, such as `go(board_size=5)`."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What is known of the training of a model."""

    games: tuple[str, ...]
    """The games that it was trained to play."""
    how: tuple[str, ...]
    """How it was trained, fact by fact."""
    rows: tuple[ResultRow, ...]
    """What was measured, before and after training; empty if nothing was."""

    @classmethod
    def around(cls, directory: Path) -> Self | None:
        """What the run tells in whose directory this model was written, or None if there is no such run."""
        inside = directory.resolve()
        run = Run(inside.parent.name, inside.parent)
        files = (inside.parent / "config.json", inside.parent / "versions.json")
        return cls.in_run(run) if inside.name in _TRAINED and all(file.is_file() for file in files) else None

    @classmethod
    def in_run(cls, run: Run) -> Self:
        """What a run tells. Raises `GymposiumError` if it cannot be read."""
        config, results, versions = map(_read, (run.config(), run.results(), run.versions()))
        games = tuple(map(_harmless, config["games"]))
        return cls(games, tuple(_how(config, results, versions)), tuple(lines(config, results)))

    def table(self) -> str:
        """What was measured, as a table of Markdown; empty if nothing was."""
        if not self.rows:
            return ""
        head = (
            "| game | player | against | matches | win | draw | loss | mean return |\n|---|---|---|---|---|---|---|---|"
        )
        return "\n".join([head, *(f"| {' | '.join(_cells(row))} |" for row in self.rows)])


def _read(data: dict[str, Any] | Problem) -> dict[str, Any]:
    if isinstance(data, Problem):
        raise GymposiumError(str(data))
    return data


def _cells(row: ResultRow) -> tuple[str, ...]:
    names = map(_harmless, (row.game, row.player, row.opponent))
    return (*names, row.matches, row.win, row.draw, row.loss, row.mean_return)


def _how(config: Mapping[str, Any], results: Mapping[str, Any], versions: Mapping[str, Any]) -> Iterator[str]:
    opponents = dict.fromkeys(_harmless(name) for stage in config["stages"] for name in stage["opponents"])
    yield f"credit `{config['credit']['kind']}`, objective `{config['objective']['kind']}`"
    yield f"reward: `{_harmless(config['reward'])}`"
    if opponents:
        yield f"opponents: {', '.join(f'`{name}`' for name in opponents)}"
    if "kept_step" in results:
        yield f"steps: {results['kept_step']}"
    yield f"learning rate {config['optimizer']['learning_rate']:g}, seed {config['seed']}"
    if seconds := spent(results):
        yield f"CPU seconds: {', '.join(f'{name} {value:.0f}' for name, value in seconds.items())}"
    yield f"with {', '.join(f'{name} {version}' for name, version in versions.items())}"


def _harmless(name: str) -> str:
    """A name as it is if it holds nothing but a kind and plain parameters, else its beginning."""
    kind = re.match(r"[\w.-]+", name)
    return name if _HARMLESS.fullmatch(name) else f"{kind[0] if kind else ''}…"
