"""A directory of adapters, one for each published policy version.

    adapters/
      learner-v000010/      an adapter: PEFT's two files, marked COMPLETE
      learner-v000012/
      learner.current       the current version, and the one before it

An adapter's directory appears by one rename, so that readers see all of it or nothing. It never changes afterwards: a
server or an opponent can keep reading a version's path. `learner.current` is replaced atomically. It names a new
version shortly before that version's directory appears; until then, readers stay with the version before. The rename
is therefore the only moment at which a version becomes published. One process may write to a store, any number may
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
from gymposium.util.durable import MARK, remove_directory, replace_text, sweep, whole_directory
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import strict_json
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.lora.files import CONFIG, WEIGHTS


class AdapterStore:
    """The versions of the adapter `name` in `directory`, which is created with the first version.

    Raises `GymposiumError` for a name that an adapter cannot have."""

    def __init__(self, directory: str | Path, name: str = "learner") -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name) or name == "base" or "-v" in name:
            raise GymposiumError(
                f"An adapter cannot be called {name!r}: take letters, digits, '-', '_' and '.', but not 'base', which "
                f"is the model without one, and no '-v', behind which its versions stand."
            )
        self.directory = Path(directory)
        self.name = name
        self._pointer = self.directory / f"{name}.current"

    def publish(self, model: Any, version: int) -> Policy:
        """Save the active LoRA of the PEFT model `model` as this version and make it the current one. A version that
        exists with the same weights, as in a resumed run, is only made current.

        Raises `GymposiumError` if the version exists with other weights, and as `save_lora` does."""
        from gymposium_agents.lora.saving import save_lora  # torch takes seconds to import

        policy = Policy(self.name, version)
        target = self._place(policy)
        sweep(self.directory, f"{self.name}-v")
        if target.exists():
            with TemporaryDirectory() as place:
                save_lora(model, place)
                same, _, _ = cmpfiles(place, target, [CONFIG, WEIGHTS], shallow=False)
            if len(same) != 2 or not (target / MARK).is_file():
                raise GymposiumError(
                    f"{self.directory} holds {policy} already, with other weights, and versions do not change. Publish "
                    f"under a higher version, or remove that one first."
                )
            self._point(policy, before=None)
            return policy
        with whole_directory(target) as staging:
            save_lora(model, staging)
            self._point(policy, before=self.current())
        return policy

    def path(self, policy: Policy) -> Path:
        """The directory of a version. Raises `GymposiumError` if the store does not hold it."""
        place = self._place(policy)
        if not (place / MARK).is_file():
            versions = ", ".join(str(other.version) for other in self.list()) or "none"
            raise GymposiumError(f"{self.directory} holds no {policy}. Versions of {self.name!r} there: {versions}.")
        return place

    def list(self) -> tuple[Policy, ...]:
        """All complete versions, lowest first."""
        form = re.compile(rf"{re.escape(self.name)}-v(\d+)")
        matches = (form.fullmatch(place.name) for place in self.directory.glob(f"{self.name}-v*"))
        return tuple(self._complete(sorted(int(match[1]) for match in matches if match)))

    def current(self) -> Policy | None:
        """The current version, or None if none was published."""
        if not self._pointer.is_file():
            return None
        try:
            pointer = strict_json(read_plain_text(self._pointer))
            versions = [int(version) for version in (pointer["current"], pointer["before"]) if version is not None]
        except (ValueError, TypeError, KeyError) as error:
            raise GymposiumError(
                f"{self._pointer} does not say which version is current. Set one with gymposium lora rollback."
            ) from error
        return next(self._complete(versions), None)

    def _complete(self, versions: Iterable[int]) -> Iterator[Policy]:
        """Those of the versions that are completely written, in order."""
        policies = (Policy(self.name, version) for version in versions)
        return (policy for policy in policies if (self._place(policy) / MARK).is_file())

    def roll_back(self, policy: Policy) -> None:
        """Make a version the current one. Nothing is removed.

        Raises `GymposiumError` if the store does not hold it."""
        self.path(policy)
        self._point(policy, before=None)

    def remove(self, policy: Policy) -> None:
        """Remove a version's files. Raises `GymposiumError` if the store does not hold it, or it is the current one."""
        place = self.path(policy)
        if policy == self.current():
            raise GymposiumError(f"{policy} is the current version of {self.directory}: roll back to another first.")
        sweep(self.directory, f"{self.name}-v")
        remove_directory(place)

    def _place(self, policy: Policy) -> Path:
        if policy.name != self.name or policy.version < 0:
            raise GymposiumError(f"{policy} is no version of {self.name!r}, which is what this store holds.")
        return self.directory / f"{self.name}-v{policy.version:06d}"

    def _point(self, policy: Policy, before: Policy | None) -> None:
        named = {"current": policy.version, "before": None if before is None else before.version}
        replace_text(self._pointer, json.dumps(named) + "\n")


def stores(directory: Path) -> list[AdapterStore]:
    """The stores in a directory, one for each name of an adapter, sorted by name.

    Raises `GymposiumError` if there is none."""
    names = sorted(file.name.removesuffix(".current") for file in directory.glob("*.current"))
    if not names:
        raise GymposiumError(
            f"{str(directory)!r} holds no published adapters: a directory that does has a file NAME.current and "
            f"directories NAME-v000001 in it."
        )
    return [AdapterStore(directory, name) for name in names]
