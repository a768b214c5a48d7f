from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.agents.conftest import family_tokenizer  # noqa: F401
from transformers import PreTrainedTokenizerFast

from gymposium_agents.chat.chat import Chat
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.models.small import make_prose_tokenizer
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.serving.service import Service

from .scripted import Serve, served
from .serving import make_player, service_in


@pytest.fixture
def chat(request: pytest.FixtureRequest, family_tokenizer: Callable[[str], PreTrainedTokenizerFast]) -> Chat:  # noqa: F811
    family = getattr(request, "param", "qwen2.5")
    if family == "small":
        return Chat(make_prose_tokenizer(["the sum of words"], 600))
    return Chat(family_tokenizer(family), thinking=family == "qwen3")


@pytest.fixture
def serve(chat: Chat, tmp_path: Path) -> Serve:
    """`serve(*replies)` serves one session with these replies."""
    return lambda *replies: served(chat, replies, tmp_path)


@pytest.fixture(scope="module")
def player(tiny: LoadedModel) -> LanguageModelPlayer:
    return make_player(tiny)


@pytest.fixture
def make(tmp_path: Path, player: LanguageModelPlayer) -> Iterator[Callable[..., Service]]:
    """Makes services over one directory, one after the other, as a restarted run does."""
    with ExitStack() as opened:

        def made(**settings: Any) -> Service:
            service = service_in(tmp_path, player, **settings)
            opened.callback(service.close)
            return service

        yield made


@pytest.fixture
def service(make: Callable[..., Service]) -> Service:
    return make()
