from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from transformers import PreTrainedTokenizerFast

from gymposium_agents.chat.chat import Chat


@pytest.fixture(scope="session")
def make_chat(family_tokenizer: Callable[[str], PreTrainedTokenizerFast]) -> Callable[..., Chat]:
    """The chat of a family. It is made once."""

    @cache
    def make(family: str, thinking: bool = False) -> Chat:
        return Chat(family_tokenizer(family), thinking=thinking)

    return make
