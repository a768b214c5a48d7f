"""The manifest of a match file: its planned matches and the digest of the finished file.

It is stored next to the file: `matches.manifest.json` for `matches.jsonl`. Each line can be verified without the
manifest, but only the manifest reveals missing, duplicate and swapped matches.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import file_digest
from itertools import islice
from pathlib import Path
from typing import Final, Self

from gymposium.errors import BadRecord, GymposiumError
from gymposium.match.seating import MatchPlan, Series
from gymposium.records.record import Record
from gymposium.util.durable import replace_text
from gymposium.util.plain_file import open_content, plain_path, read_plain_text
from gymposium.util.settings import dump_settings, read_settings
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import plural

MANIFEST_FORMAT: Final = "gymposium-manifest-1"

_NAMED = 3
"""Maximum number of missing matches listed in a problem."""


def get_manifest_path(file: Path) -> Path:
    """Return the path of a file's manifest. It is the same if the file is compressed."""
    return plain_path(file).with_suffix(".manifest.json")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The matches that a file must contain, and the finished file's digest."""

    plan: MatchPlan
    digest: str | None = None
    """SHA-256 of the finished file's uncompressed content; None while matches are missing."""

    @classmethod
    def load(cls, file: Path) -> Self | None:
        """Load a file's manifest, or return None. Raises `BadRecord` for an unreadable manifest."""
        path = get_manifest_path(file)
        try:
            data = parse_strict_json(read_plain_text(path))
            if not isinstance(data, dict) or data.get("format") != MANIFEST_FORMAT:
                raise ValueError(f"not a manifest in format {MANIFEST_FORMAT!r}")
            match data:
                case {"count": count, "digest": str() | None as digest, "plan": list(series)} if len(data) == 4:
                    plan = MatchPlan(tuple(read_settings("plan", Series, one) for one in series))
                    if plan.count == count:
                        return cls(plan, digest)
                    raise ValueError(f"count is {count!r}, but {plan.count} matches are planned")
            raise ValueError("the fields must be format, count, digest and plan")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, GymposiumError) as error:
            raise BadRecord(f"{path} cannot be read: {str(error).rstrip('.')}. Restore it from a copy.") from error

    def write(self, file: Path) -> None:
        """Write the manifest next to a file, atomically."""
        data = {
            "format": MANIFEST_FORMAT,
            "count": self.plan.count,
            "digest": self.digest,
            "plan": [dump_settings(series) for series in self.plan.series],
        }
        replace_text(get_manifest_path(file), json.dumps(data, indent=2) + "\n")

    def find_differences(self, records: Iterable[tuple[int, Record]]) -> Iterator[tuple[int | None, str]]:
        """Yield the differences between the plan and a file's numbered records, each with its line number.

        The line number is None if a difference concerns the whole file. Records are compared one at a time and not kept
        in memory. Matches that broke off are not compared."""
        lines: dict[int, int] = {}
        last = -1
        for line, record in records:
            if record.ending.broke_off:
                continue
            number = record.number
            if why := self._describe_mismatch(record):
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
            yield (
                None,
                (
                    f"{missing} of the {self.plan.count} planned {plural(self.plan.count, 'match is', 'matches are')} "
                    f"missing: {named}"
                ),
            )

    def _describe_mismatch(self, record: Record) -> str:
        """Describe how a record differs from its planned match, or return ""."""
        if record.number is None or record.number >= self.plan.count:
            return f"the plan of the run has no match of number {record.number}"
        for name, planned in self.plan.match(record.number).items():
            if (recorded := getattr(record, name)) != planned:
                return f"{name}: {recorded!r} is recorded, but the plan has {planned!r} for match {record.number}"
        return ""


def compute_digest(file: Path) -> str:
    """Return a file's digest as stored in its manifest. For a compressed file, the content is digested."""
    with open_content(file) as content:
        return file_digest(content, "sha256").hexdigest()
