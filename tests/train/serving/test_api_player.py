"""The player `api:` against gymposium's own service, which speaks all dialects."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gymposium.tasks.guessing import guessing

from gymposium.match import MatchJob, play
from gymposium.tasks.tools import Call
from gymposium_agents.chat.chat import Chat
from gymposium_agents.players.api_player import make_api_player

from .scripted import MAX_TOKENS, served

THOUGHTS = "<think>\nhm\n</think>\n\n"


@pytest.mark.parametrize("chat", ["qwen2.5", "qwen3"], indirect=True)
def test_all_dialects_play_a_game_with_tools_in_the_same_tokens(chat: Chat, tmp_path: Path) -> None:
    """Each reply comes back as it was sampled, thoughts and calls included, so that the prompts only grow."""
    assert chat.dialect is not None
    thoughts = THOUGHTS if chat.thinking else ""
    replies = [f"{thoughts}{chat.dialect.write([Call('guess', {'number': number})])}" for number in (2, 7, 4)]
    tokens = []
    for dialect in ("chat", "messages", "responses"):
        directory = tmp_path / dialect
        directory.mkdir()
        with served(chat, replies, directory) as session:
            options = f"base_url={session.base_url}&dialect={dialect}&reply=tools&max_tokens={MAX_TOKENS}&seed=false"
            player = make_api_player("policy", f"{options}&temperature=default&retries=0&system=Be%20brief.")
            [played] = play([MatchJob("m", guessing(), [player], 4)])
            assert played.paid == (1.0,)
            assert all(turn.text.startswith("<tool_call>") for turn in played.turns)
            assert session.beginnings() == ["fresh", "grown", "grown"]
            tokens.append([turn.tokens for turn in session.turns()])
    assert tokens[0] == tokens[1] == tokens[2]
