"""Spaces for text."""

from __future__ import annotations

import string
from copy import deepcopy
from typing import Any, NoReturn

import numpy as np
from gymnasium.error import CustomSpaceError
from gymnasium.spaces import Discrete, Space, Text, Tuple
from gymnasium.vector.utils import batch_space, create_shared_memory

from gymposium.errors import BadOption

MAX_TEXT = 100_000
"""No observation or reply is longer than this, in characters."""

_SAMPLE = 32
"""Length of the longest random text."""


class UnicodeText(Text):
    """Any Unicode text up to a length. Gymnasium's own space admits letters and digits only, and looks at
    each character; this one looks at type and length. Samples are short and of printable ASCII."""

    def __init__(self, max_length: int = MAX_TEXT, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short random text; with a mask or probabilities as `gymnasium.spaces.Text.sample`."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        length = int(self.np_random.integers(min(self.max_length, _SAMPLE) + 1))
        picked = self.np_random.integers(len(self.character_list), size=length)
        return "".join(self.character_list[i] for i in picked)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    @property
    def spaces(self) -> NoReturn:
        """Raises `BadOption`: text has no parts and no shape. stable-baselines3 asks for parts and then for a shape;
        of None for a shape it says what nobody understands."""
        raise BadOption(
            "stable-baselines3 cannot learn from text: make the environment with observation='tensor', or with "
            "observation='dict' and a filter around it (gymnasium.wrappers.FilterObservation)."
        )

    @property
    def is_np_flattenable(self) -> bool:
        """False: there is no array of fixed size for text of all Unicode."""
        return False

    def __eq__(self, other: object, /) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"


@create_shared_memory.register(UnicodeText)
def _no_shared_memory(space: UnicodeText, n: int = 1, ctx: Any = None) -> Any:
    """Gymnasium would take it for its own text space and hand back garbage without a word."""
    raise CustomSpaceError(
        "Text cannot go through shared memory: make the vector environment with vector_kwargs={'shared_memory': False}."
    )


@batch_space.register(UnicodeText)
def _batch_of_texts(space: UnicodeText, n: int = 1) -> Space[Any]:
    """One space for all n: copies of it, which Gymnasium would make, are equal but for 45 ms and 276 kB of 256."""
    return Tuple((deepcopy(space),) * n)


class Moves(Discrete):
    """The moves of a game, by index or by text: `4`, `"b2"` and whatever else a model may write are all
    in it, since what a wrong text costs is for `on_illegal` to say. Samples are indices, so that masks and
    classical learners work as with any `Discrete`."""

    def __init__(self, n: int, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(n, seed=seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) or super().contains(x)

    def __repr__(self) -> str:
        return f"Moves({self.n})"
