"""A directory of adapters, one per published policy version.

    adapters/
      learner-v000010/      an adapter: PEFT's two files, marked COMPLETE
      learner-v000012/
      learner.current       the current version, and the one before it

An adapter's directory appears by a single rename, so readers see all of it or nothing. It never changes afterwards: a
server or an opponent can keep reading a version's path. `learner.current` is replaced atomically. It names a new
version shortly before that version's directory appears. Until then, readers keep using the previous version. The rename
is therefore the only moment when a version becomes published. One process may write to a store, and any number may
read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from filecmp import cmpfiles
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.util.durable import MARK, remove_directory, remove_staging, replace_text, write_directory
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.lora.files import CONFIG, WEIGHTS


class AdapterStore:
    """The versions of the adapter `name` in `directory`, which is created with the first version.

    Raises `GymposiumError` for an invalid adapter name."""

    def __init__(self, directory: str | Path, name: str = "learner") -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name) or name == "base" or "-v" in name:
            raise GymposiumError(
                f"Invalid adapter name {name!r}. Use letters, digits, '-', '_' and '.', but not 'base' (the model "
                f"without an adapter) or '-v' (used for versions)."
            )
        self.directory = Path(directory)
        self.name = name
        self._pointer = self.directory / f"{name}.current"

    def publish(self, model: Any, version: int) -> Policy:
        """Save the active LoRA of the PEFT model `model` as this version and make it current. If the version exists
        with the same weights, as in a resumed run, it is only made current.

        Raises `GymposiumError` if the version exists with other weights, and the errors of `save_lora`."""
        from gymposium_agents.lora.saving import save_lora  # torch takes seconds to import

        policy = Policy(self.name, version)
        target = self._find_path(policy)
        remove_staging(self.directory, f"{self.name}-v")
        if target.exists():
            with TemporaryDirectory() as place:
                save_lora(model, place)
                same, _, _ = cmpfiles(place, target, [CONFIG, WEIGHTS], shallow=False)
            if len(same) != 2 or not (target / MARK).is_file():
                raise GymposiumError(
                    f"{self.directory} already contains {policy} with other weights, and versions never change. "
                    f"Publish under a higher version, or remove that one first."
                )
            self._write_pointer(policy, before=None)
            return policy
        with write_directory(target) as staging:
            save_lora(model, staging)
            self._write_pointer(policy, before=self.current())
        return policy

    def path(self, policy: Policy) -> Path:
        """Return the directory of a version. Raises `GymposiumError` if the version is not in the store."""
        place = self._find_path(policy)
        if not (place / MARK).is_file():
            versions = ", ".join(str(other.version) for other in self.list()) or "none"
            raise GymposiumError(f"{policy} is not in {self.directory}. Its versions of {self.name!r}: {versions}.")
        return place

    def list(self) -> tuple[Policy, ...]:
        """Return all complete versions, lowest first."""
        form = re.compile(rf"{re.escape(self.name)}-v(\d+)")
        matches = (form.fullmatch(place.name) for place in self.directory.glob(f"{self.name}-v*"))
        return tuple(self._list_complete(sorted(int(match[1]) for match in matches if match)))

    def current(self) -> Policy | None:
        """Return the current version, or None if none was published."""
        if not self._pointer.is_file():
            return None
        try:
            pointer = parse_strict_json(read_plain_text(self._pointer))
            versions = [int(version) for version in (pointer["current"], pointer["before"]) if version is not None]
        except (ValueError, TypeError, KeyError) as error:
            raise GymposiumError(
                f"{self._pointer} does not name the current version. Set one with gymposium lora rollback."
            ) from error
        return next(self._list_complete(versions), None)

    def _list_complete(self, versions: Iterable[int]) -> Iterator[Policy]:
        """Yield those of these versions that are completely written, in order."""
        policies = (Policy(self.name, version) for version in versions)
        return (policy for policy in policies if (self._find_path(policy) / MARK).is_file())

    def roll_back(self, policy: Policy) -> None:
        """Make a version the current one. Nothing is removed.

        Raises `GymposiumError` if the version is not in the store."""
        self.path(policy)
        self._write_pointer(policy, before=None)

    def remove(self, policy: Policy) -> None:
        """Remove a version's files. Raises `GymposiumError` if the version is not in the store, or is the current
        one."""
        place = self.path(policy)
        if policy == self.current():
            raise GymposiumError(
                f"{policy} is the current version of {self.directory}. Roll back to another version first."
            )
        remove_staging(self.directory, f"{self.name}-v")
        remove_directory(place)

    def _find_path(self, policy: Policy) -> Path:
        if policy.name != self.name or policy.version < 0:
            raise GymposiumError(
                f"{policy} is not a version of {self.name!r}, the adapter in this store. Name one of those."
            )
        return self.directory / f"{self.name}-v{policy.version:06d}"

    def _write_pointer(self, policy: Policy, before: Policy | None) -> None:
        named = {"current": policy.version, "before": None if before is None else before.version}
        replace_text(self._pointer, json.dumps(named) + "\n")


def list_stores(directory: Path) -> list[AdapterStore]:
    """Return the stores in a directory, one per adapter name, sorted by name.

    Raises `GymposiumError` if there are no stores."""
    names = sorted(file.name.removesuffix(".current") for file in directory.glob("*.current"))
    if not names:
        raise GymposiumError(
            f"{str(directory)!r} has no published adapters. Name a directory with a file NAME.current and directories "
            "such as NAME-v000001."
        )
    return [AdapterStore(directory, name) for name in names]
