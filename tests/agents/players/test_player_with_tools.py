"""A language model calls tools through its chat template, and growing matches are one row of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from tests.gymposium.tasks.guessing import guessing

from gymposium.errors import BadOption
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.records import Record
from gymposium.records.replay import find_replay_difference
from gymposium.tasks.tools import Call
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest, Tokens
from gymposium_agents.players.player import LanguageModelPlayer


@dataclass
class ScriptedEngine:
    """An engine whose completions are these texts and calls in order, with thoughts of its own spelling."""

    chat: Chat
    script: Sequence[tuple[str, Sequence[Call]]]
    asked: list[TokenRequest] = field(default_factory=list)
    policy: Policy = field(default_factory=Policy)
    context: int = 100_000

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        completions = []
        for request in requests:
            ids = self.chat.reply(*self.script[len(self.asked)])
            self.asked.append(request)
            completions.append(Completion(ids, (0.0,) * len(ids), "stop", self.policy))
        return completions

    def score(self, pairs: Sequence[tuple[Tokens, Tokens]], **how: Any) -> list[tuple[float, ...]]:
        raise NotImplementedError


def guess(number: int) -> Call:
    return Call("guess", {"number": number})


def play_guessing(family_tokenizer: Any, family: str, *, thinking: bool, context: str = "full", lead: str = "") -> Any:
    chat = Chat(family_tokenizer(family), thinking=thinking)
    script = [(lead, [guess(2)]), (lead, [guess(7)]), (lead, [guess(4)])]
    engine = ScriptedEngine(chat, script)
    player = LanguageModelPlayer(
        "lm:scripted", engine, chat, sampling=Sampling(1.0, 400), style="full", reply="tools", context=context
    )
    [played] = play([MatchJob("m", guessing(), [player], 4)])
    return chat, engine, player, played


THOUGHTS = "<think>\nBetween 2 and 7.\n</think>\n\n"


@pytest.mark.parametrize(
    ("family", "thinking", "lead"),
    [
        ("qwen2.5", False, ""),
        ("qwen3", True, THOUGHTS),
        ("qwen3-2507", False, ""),
        ("llama3", False, ""),
    ],
)
def test_growing_history_makes_one_row(family: str, thinking: bool, lead: str, family_tokenizer: Any) -> None:
    chat, _, player, played = play_guessing(family_tokenizer, family, thinking=thinking, lead=lead)
    assert chat.grows("tool", thoughts=bool(lead))
    assert played.paid == (1.0,)
    assert player.reader.name == f"tools-{chat.dialect.name}"
    turns = [turn.trace for turn in played.turns]
    for before, after in pairwise(turns):
        kept = (*before.prompt, *before.completion.ids)
        assert after.prompt[: len(kept)] == kept, "sampled tokens stay as they are"
    first = chat.tokenizer.decode(turns[0].prompt)
    assert "guess" in first.partition("Guess a number")[0], "the template lists the tools"
    assert "higher" in chat.tokenizer.decode(turns[1].prompt)


@pytest.mark.parametrize(
    ("family", "context", "thinking"),
    [
        ("glm4", "full", True),
        ("qwen3", "full", False),  # the prompt closes the thoughts, and history leaves them out
        ("qwen3", "last-1", True),
        ("qwen3", "truncated", True),
    ],
)
def test_rewritten_history_renders_each_turn(family: str, context: str, thinking: bool, family_tokenizer: Any) -> None:
    lead = THOUGHTS if thinking else ""
    chat, engine, _, played = play_guessing(family_tokenizer, family, thinking=thinking, context=context, lead=lead)
    assert played.paid == (1.0,)
    assert not (context == "full" and chat.grows("tool"))
    last = chat.tokenizer.decode(engine.asked[2].prompt)
    assert ("Guess a number" in last) == (context != "last-1")
    assert "lower" in last


def test_record_names_the_dialect_and_replays(family_tokenizer: Any) -> None:
    _, _, _, played = play_guessing(family_tokenizer, "qwen3", thinking=True, lead=THOUGHTS)
    record = Record.from_match(played)
    assert record.prompts[0]["reader"] == "tools-hermes"
    assert find_replay_difference(guessing(), record) is None


def test_reply_without_a_call_is_retried(family_tokenizer: Any) -> None:
    chat = Chat(family_tokenizer("qwen3"))
    engine = ScriptedEngine(chat, [("", [guess(2)]), ("It is 4.", []), ("", [guess(4)])])
    sampling = Sampling(1.0, 400)
    player = LanguageModelPlayer("lm", engine, chat, sampling=sampling, style="full", reply="tools", context="full")
    [played] = play([MatchJob("m", guessing(), [player], 4, on_illegal=FailurePolicy("retry", 1))])
    assert [turn.reading for turn in played.turns] == ["move", "unparsable", "move"]
    assert "The reply could not be read." in chat.tokenizer.decode(engine.asked[2].prompt)
    assert played.paid == (1.0,)


def test_template_without_tools_suggests_other_replies(family_tokenizer: Any) -> None:
    chat = Chat(family_tokenizer("gemma"))
    with pytest.raises(BadOption, match="reply=tools is not supported: the chat template of 'gemma' has no tools"):
        LanguageModelPlayer("lm", ScriptedEngine(chat, []), chat, sampling=Sampling(1.0, 9), reply="tools")


def test_game_without_tools_refuses_tool_replies(family_tokenizer: Any) -> None:
    chat = Chat(family_tokenizer("qwen3"))
    player = LanguageModelPlayer("lm", ScriptedEngine(chat, []), chat, sampling=Sampling(1.0, 9), reply="tools")
    with pytest.raises(BadOption, match="tic_tac_toe has no tools"):
        [*play([MatchJob("m", load_game("tic_tac_toe"), [player, player], 0)])]


def test_player_settings_accept_tool_replies() -> None:
    assert PlayerSettings().with_options({"reply": "tools", "context": "full"}).reply == "tools"
