"""Audit log files: replay every episode in every file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gymposium.errors import GymposiumError, describe_error
from gymposium.records import FORMAT, Record, find_first_difference
from gymposium.util.isolated import CallFailed, call_isolated
from gymposium_arena.audit import atif, inspect_ai, kaggle, openspiel, textarena
from gymposium_arena.audit.budget import Budget
from gymposium_arena.audit.episode import BadLog, Episode
from gymposium_arena.audit.files import find_log_files, read_parts
from gymposium_arena.audit.logged_match import NeedsIsolation


class Format(Protocol):
    """Protocol of the log-format modules."""

    NAME: str
    """The library that writes the logs."""

    @property
    def recognizes(self) -> Callable[[Mapping[str, Any]], bool]:
        """Return whether a JSON object is an episode in this format."""
        ...

    @property
    def read(self) -> Callable[[Mapping[str, Any], Episode], None]:
        """Parse and replay a JSON object into `episode`. Raises `BadLog` at the first mismatch."""
        ...


FORMATS: tuple[Format, ...] = (inspect_ai, textarena, openspiel, kaggle, atif)


@dataclass(slots=True)
class Audit:
    """The audited episodes of a set of log files."""

    episodes: list[Episode] = field(default_factory=list)

    @property
    def records(self) -> list[Record]:
        """The records of finished episodes that match their logs."""
        return [episode.record for episode in self.episodes if episode.agrees and episode.record is not None]

    @property
    def problems(self) -> list[tuple[str, str]]:
        """Every mismatch, as a pair of location and description."""
        return [(episode.where, problem) for episode in self.episodes for problem in episode.problems]


def audit_logs(paths: Sequence[str | Path], *, agents: Sequence[str] = ()) -> Audit:
    """Replay every episode in these log files and folders. `agents` names the agent in each seat if a log does not.

    Raises `BadOption` for a path without logs, and `MissingExtra` for `.eval` files without zstandard."""
    audit, budget = Audit(), Budget()
    first: dict[tuple[str, str], Episode] = {}
    for path in find_log_files([Path(path) for path in paths]):
        for episode in _read_episodes(path, tuple(agents), budget):
            is_whole = not episode.seats or episode.agrees  # else another seat's document may stand for the match
            original = first.setdefault((episode.format, episode.id), episode) if episode.id and is_whole else episode
            if original is episode:
                audit.episodes.append(episode)
            elif not original.add_seat(episode):
                episode.problems.append(f"duplicate episode {episode.id}, first seen in {original.where}")
                audit.episodes.append(episode)
    return audit


def _read_episodes(path: Path, agents: tuple[str, ...], budget: Budget) -> Iterator[Episode]:
    for where, data in read_parts(path, budget):
        if isinstance(data, BadLog):
            yield Episode(where, "", "", problems=[str(data)])
            continue
        form = next((form for form in FORMATS if form.recognizes(data)), None)
        if form is None:
            yield Episode(where, "", "", problems=[_describe_unknown_format(data)])
        elif form is inspect_ai:
            for place, sample in inspect_ai.split_samples(data):
                yield _read_episode(form, sample, f"{where}: {place}" if place else where, agents)
        else:
            yield _read_episode(form, data, where, agents)


def _read_episode(form: Format, data: Mapping[str, Any], where: str, agents: tuple[str, ...]) -> Episode:
    episode = Episode(where, form.NAME, where.rpartition("/")[2], agents)
    try:
        form.read(data, episode)
        _check_record(episode)
    except NeedsIsolation:
        try:
            return call_isolated(_read_episode_in_process, form.NAME, data, where, agents)
        except CallFailed as error:
            episode.problems.append(str(error))
    except Exception as error:  # noqa: BLE001 - an engine may raise anything for an untrusted log
        episode.problems.append(str(error) if isinstance(error, GymposiumError) else describe_error(error))
    return episode


def _read_episode_in_process(name: str, data: Mapping[str, Any], where: str, agents: tuple[str, ...]) -> Episode:
    """Run `_read_episode` in a child process. The format is passed by name."""
    (form,) = (form for form in FORMATS if name == form.NAME)
    return _read_episode(form, data, where, agents)


def _check_record(episode: Episode) -> None:
    """Check the record as `gymposium verify` does."""
    if episode.record is not None and (difference := find_first_difference(episode.record)) is not None:
        episode.problems.append(difference)


def _describe_unknown_format(data: Mapping[str, Any]) -> str:
    if data.get("format") == FORMAT:
        return "this is a gymposium record: check it with gymposium verify"
    known = ", ".join(form.NAME for form in FORMATS)
    return f"unknown log format (known: {known}); its keys are {', '.join(map(str, [*data][:8]))}"
