"""The text of a program as it grows, and which names it may use where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from gymposium_trace.drawing import Draw

Kind = Literal["int", "str", "ints", "words", "counts"]
"""What a variable holds: a number, a string, a list of numbers or of strings (never empty), a dict from strings to
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
    """Lines of a program."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._indent = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text if text else "")

    def gap(self) -> None:
        """Blank lines between what stands at the top."""
        if self._lines:
            self._lines += ["", ""]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A head that ends with a colon, and what is written meanwhile under it."""
        self.line(head)
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
    """Names that may be used, and what they hold."""

    variables: dict[str, Kind] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    fixed: set[str] = field(default_factory=set)
    """Variables that must not be changed: a loop runs over them, or ends by them."""
    taken: set[str] = field(default_factory=set)
    loops: int = 0
    """How many loops this is inside of."""

    def inner(self, variables: dict[str, Kind]) -> Scope:
        """The scope of a function: what is defined so far, and its parameters."""
        return Scope(dict(variables), list(self.functions), set(), self.taken | set(variables))

    def of(self, *kinds: Kind) -> list[str]:
        return [name for name, kind in self.variables.items() if kind in kinds]

    def changeable(self, *kinds: Kind) -> list[str]:
        return [name for name in self.of(*kinds) if name not in self.fixed]

    def fresh(self, kind: Kind, draw: Draw) -> str:
        """A name that is not taken yet; not to be used before `add`."""
        return self.free(NAMES[kind].split(), draw)

    def free(self, names: list[str], draw: Draw) -> str:
        """One of the names that is not taken; with a number behind where all are."""
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
