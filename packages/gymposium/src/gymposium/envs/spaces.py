"""Spaces for text, and for moves as indices or text."""

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
"""Maximum length of an observation or a reply in the default text space, in characters."""

_SAMPLE = 32
"""Maximum length of a sampled text."""


class UnicodeText(Text):
    """The space of all Unicode texts up to a maximum length.

    Gymnasium's `Text` checks each character against a fixed set. This space checks only type and length.
    Samples are short texts of printable ASCII."""

    def __init__(self, max_length: int = MAX_TEXT, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a short random text. Masks and probabilities work as in `gymnasium.spaces.Text.sample`."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        length = int(self.np_random.integers(min(self.max_length, _SAMPLE) + 1))
        picked = self.np_random.integers(len(self.character_list), size=length)
        return "".join(self.character_list[i] for i in picked)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    @property
    def spaces(self) -> NoReturn:
        """Raise `BadOption`, because stable-baselines3 does not support text.

        It reads a space's `spaces` and then its shape. Its own error for a shape of None does not name the cause."""
        raise BadOption(
            "stable-baselines3 cannot learn from text. Make the environment with observation='tensor', or with "
            "observation='dict' and a filter around it (gymnasium.wrappers.FilterObservation)."
        )

    @property
    def is_np_flattenable(self) -> bool:
        """False, because Unicode text has no fixed-size array."""
        return False

    def __eq__(self, other: object, /) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"


@create_shared_memory.register(UnicodeText)
def _refuse_shared_memory(space: UnicodeText, n: int = 1, ctx: Any = None) -> Any:
    """Raise `CustomSpaceError`, because Gymnasium would treat the space as its own `Text` and return wrong text."""
    raise CustomSpaceError(
        "Text cannot use shared memory. Make the vector environment with vector_kwargs={'shared_memory': False}."
    )


@batch_space.register(UnicodeText)
def _batch_text_space(space: UnicodeText, n: int = 1) -> Space[Any]:
    """Return a tuple that holds one space n times. Gymnasium's default makes n copies: 45 ms and 276 kB for n = 256."""
    return Tuple((deepcopy(space),) * n)


class Moves(Discrete):
    """The space of a game's moves, as indices or text.

    It contains every text, such as `"b2"`, because the policy `on_illegal` handles texts that are not moves. Samples
    are indices, so masks and classical learners work as with any `Discrete`."""

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) or super().contains(x)

    def __repr__(self) -> str:
        return f"Moves({self.n})"
