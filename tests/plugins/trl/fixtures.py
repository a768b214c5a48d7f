"""Fixtures: a world with a tool, and a model that calls tools as its chat template does. Torch has one thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.replies.prompt import get_prompt
from gymposium.tasks.tools import Call, format_calls, list_tools
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import Tokens
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.models.small import make_small_config
from gymposium_agents.players.player import choose_reader
from gymposium_trl import Rollout

from ..tinker.runs import guess_world

SEARCH = Call("search_inbox", {"keywords": ["order"]})
SURRENDER = Call("return_final_answer", {"answer": "I don't know", "sources": []})
GUESSES = tuple(Call("guess", {"number": number}) for number in (1, 2, 3))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def guess(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A world of one tool, in which the second guess is worth half of the first."""
    with guess_world(tmp_path_factory.mktemp("world")) as world:
        yield world


def match_row(game: Game, chat: Chat, seed: int, *calls: Call) -> tuple[Tokens, list[int]]:
    """The tokens of a match in which these calls are made, and the places of those of the calls."""
    match, prompt = game.new(seed), get_prompt(game, "compact", choose_reader("tools", chat))
    ids, places = chat.prompt(prompt(match.observe(0, "compact")), list_tools(game)), list[int]()
    for call in calls:
        if ids[-1:] == (chat.end,):
            results = [result.text for result in match.observe(0, "compact").results]
            ids += chat.more(*results, after="tool", ended=True)
        reply = chat.reply("", [call])
        places += range(len(ids), len(ids) + len(reply))
        ids += reply
        match.apply({0: format_calls([call])})
        if not match.to_move():
            break
    return ids, places


@pytest.fixture(scope="session")
def tool_model(guess: str, family_tokenizer: Any) -> LoadedModel:
    """A model with the chat template of Qwen2.5 that calls the tools of its template: it guesses at random, and in the
    first mail task of seed 1 it searches the mailbox and then gives up. Tests must not change its weights."""
    chat = Chat(family_tokenizer("qwen2.5"))
    size = SmallModel(hidden=64, layers=2, heads=2, feed_forward=128, context=4096)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model: Any = AutoModelForCausalLM.from_config(make_small_config(size, len(chat.tokenizer)))  # type: ignore[no-untyped-call]
    rows = [match_row(load_game(guess), chat, seed, call, call) for seed, call in enumerate(GUESSES)]
    [mail] = Rollout("mail").dataset(1, seed=1)["seed"]
    rows.append(match_row(load_game("mail"), chat, mail, SEARCH, SURRENDER))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(60):
        optimizer.zero_grad()
        for ids, places in rows:
            logits = model(torch.tensor([ids])).logits[0, [place - 1 for place in places]]
            loss = torch.nn.functional.cross_entropy(logits, torch.tensor([ids[place] for place in places]))
            loss.backward()
        optimizer.step()
    return LoadedModel(model.eval(), chat)
