"""The manifest of a file of matches: the matches that were planned for it, and the digest of the finished file.

It stands beside the file: `matches.manifest.json` beside `matches.jsonl`. Each line can be verified without it; the
manifest also shows missing, repeated and exchanged matches.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import file_digest
from itertools import islice
from pathlib import Path
from typing import Final, Self

from gymposium.errors import BadRecord, GymposiumError
from gymposium.match.seating import MatchPlan, Series
from gymposium.records.record import Record
from gymposium.util.durable import replace_text
from gymposium.util.plain_file import open_content, plain_path, read_plain_text
from gymposium.util.settings import read_settings
from gymposium.util.strict_json import strict_json

MANIFEST_FORMAT: Final = "gymposium-manifest-1"

_NAMED = 3
"""Number of missing matches that a problem names."""


def manifest_of(file: Path) -> Path:
    """The path of a file's manifest, which a compressed file keeps."""
    return plain_path(file).with_suffix(".manifest.json")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The matches that a file must hold, and the digest of the file once it is finished."""

    plan: MatchPlan
    digest: str | None = None
    """SHA-256 of the finished file, not compressed; None while matches are missing."""

    @classmethod
    def beside(cls, file: Path) -> Self | None:
        """The manifest of a file, or None if it has none. Raises `BadRecord` for one that cannot be read."""
        path = manifest_of(file)
        try:
            data = strict_json(read_plain_text(path))
            if not isinstance(data, dict) or data.get("format") != MANIFEST_FORMAT:
                raise ValueError(f"it is not a manifest of format {MANIFEST_FORMAT!r}")
            match data:
                case {"count": count, "digest": str() | None as digest, "plan": list(series)} if len(data) == 4:
                    plan = MatchPlan(tuple(read_settings("plan", Series, one) for one in series))
                    if plan.count == count:
                        return cls(plan, digest)
                    raise ValueError(f"count is {count!r}, but {plan.count} matches are planned")
            raise ValueError("fields are missing, unknown or not of the right form")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, GymposiumError) as error:
            raise BadRecord(f"{path} cannot be read: {str(error).rstrip('.')}.") from error

    def write(self, file: Path) -> None:
        """Write the manifest beside a file, whole or not at all."""
        data = {
            "format": MANIFEST_FORMAT,
            "count": self.plan.count,
            "digest": self.digest,
            "plan": [asdict(series) for series in self.plan.series],
        }
        replace_text(manifest_of(file), json.dumps(data, indent=2) + "\n")

    def differences(self, records: Sequence[tuple[int, Record]]) -> Iterator[tuple[int | None, str]]:
        """The differences between the plan and a file's records, which come with their line numbers. Each difference
        comes with its line, or None for the file. Matches that broke off are not compared."""
        lines: dict[int, int] = {}
        last = -1
        for line, record in records:
            if record.ending.broke_off:
                continue
            number = record.number
            if why := self._unplanned(record):
                yield line, why
            elif number in lines:
                yield line, f"match {number} of the plan is in line {lines[number]} already"
            elif self.digest is not None and number is not None and number < last:
                yield line, f"match {number} of the plan comes after match {last}"
            if number is not None and number < self.plan.count:
                lines.setdefault(number, line)
                last = number
        missing = self.plan.count - len(lines)
        if self.digest is not None and missing:
            numbers = (str(number) for number in range(self.plan.count) if number not in lines)
            named = ", ".join(islice(numbers, _NAMED)) + (", …" if missing > _NAMED else "")
            yield None, f"{missing} of the {self.plan.count} planned matches are missing: {named}"

    def _unplanned(self, record: Record) -> str:
        """How a record differs from the planned match of its number; empty if it does not."""
        if record.number is None or record.number >= self.plan.count:
            return f"the plan of the run has no match of number {record.number}"
        for name, planned in self.plan.match(record.number).items():
            if (recorded := getattr(record, name)) != planned:
                return f"{name}: {recorded!r} is recorded, but the plan has {planned!r} for match {record.number}"
        return ""


def digest_of(file: Path) -> str:
    """The digest of a file, as a manifest holds it: that of its content if it is compressed."""
    with open_content(file) as content:
        return file_digest(content, "sha256").hexdigest()
