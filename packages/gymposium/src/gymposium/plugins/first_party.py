"""What the other distributions of gymposium add, so that an error can name the one to install.

`first_party.json` is generated from their plugins by `tests/workspace/first_party.py`, and a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from gymposium.errors import MissingExtra, UnknownName
from gymposium.plugins.specs import OpponentSpec, Spec

FILE = "first_party.json"


@cache
def first_party() -> Mapping[str, Mapping[str, str]]:
    """Return the arguments of `pip install` by kind (`Spec.kind`) and by name as `written`."""
    table: dict[str, dict[str, str]] = json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8-sig"))
    return table


def written(spec: Spec) -> str:
    """Return the name of what a spec describes; for a player, the text with which its form begins."""
    return (spec.fixed_part or spec.form) if isinstance(spec, OpponentSpec) else spec.name


def check_first_party(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise `MissingExtra` for a name that another distribution of gymposium would add. `known` are the names that
    plugins add here, as `written`."""
    known = {*known}
    missing = {text: install for text, install in first_party().get(kind, {}).items() if text not in known}
    for text, install in missing.items():
        begins = kind == "player" and text.endswith((":", "-")) and name.startswith(text)
        if begins or name == text:
            raise MissingExtra(f"The {kind} {text!r}", install)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """Return the error for a name that no plugin adds here; similar names include those of distributions that are not
    installed. Raises `MissingExtra` as `check_first_party` does."""
    known = {*known}
    check_first_party(kind, name, known)
    return UnknownName(kind, name, known.union(first_party().get(kind, {})))
