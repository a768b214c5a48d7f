"""The text of a program under construction, and the names in each scope."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from gymposium.util.streams import Draw

Kind = Literal["int", "str", "ints", "words", "counts"]
"""Kind of value: a number, a string, a list of numbers or of strings (never empty), or a dict from strings to
numbers."""

NAMES: dict[Kind, str] = {
    "int": "total score level width height weight price amount offset limit margin bonus speed depth result extra",
    "str": "word name label text code tag title phrase",
    "ints": "numbers values scores sizes steps prices heights marks",
    "words": "words names colors fruits labels parts",
    "counts": "counts stock ages points table rates",
}
WORDS = (
    "apple river stone cloud maple tiger lemon pearl amber coral ember frost grape honey ivory jolly karma lunar mango "
    "noble olive piano quilt robin sugar tulip umbra velvet willow zebra ant bee cat dog elk fox"
).split()


class Writer:
    """Writer of the lines of a program."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._indent = 0

    def add_line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text if text else "")

    def add_gap(self) -> None:
        """Write blank lines between top-level definitions."""
        if self._lines:
            self._lines += ["", ""]

    @contextmanager
    def open_block(self, head: str) -> Iterator[None]:
        """Write a line that ends with a colon, and indent the lines written inside the context."""
        self.add_line(head)
        self._indent += 1
        yield
        self._indent -= 1

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


@dataclass(frozen=True, slots=True)
class Function:
    """A function that may be called for its value."""

    name: str
    takes: tuple[Kind, ...]
    gives: Kind


@dataclass(slots=True)
class Scope:
    """The names that may be used in a scope, with the kinds of their values."""

    variables: dict[str, Kind] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    fixed: set[str] = field(default_factory=set)
    """Variables that must not change, because a loop iterates over them or tests them."""
    taken: set[str] = field(default_factory=set)
    loops: int = 0
    """Number of loops around the current statement."""

    def make_inner(self, variables: dict[str, Kind]) -> Scope:
        """Return the scope of a function with these parameters and all functions defined so far."""
        return Scope(dict(variables), list(self.functions), set(), self.taken | set(variables))

    def list_names(self, *kinds: Kind) -> list[str]:
        return [name for name, kind in self.variables.items() if kind in kinds]

    def list_changeable(self, *kinds: Kind) -> list[str]:
        return [name for name in self.list_names(*kinds) if name not in self.fixed]

    def take_name(self, kind: Kind, draw: Draw) -> str:
        """Take a new name for a variable of this kind. It becomes usable after `add`."""
        return self.pick_free_name(NAMES[kind].split(), draw)

    def pick_free_name(self, names: list[str], draw: Draw) -> str:
        """Return an unused name. If all names are taken, append a number to one."""
        left = [name for name in names if name not in self.taken]
        number = 2
        while not left:
            left = [f"{name}_{number}" for name in names if f"{name}_{number}" not in self.taken]
            number += 1
        name = draw.pick(left)
        self.taken.add(name)
        return name

    def add(self, name: str, kind: Kind) -> None:
        self.variables[name] = kind
        self.taken.add(name)
