"""`await evaluate(task_id=…, seed=…, model=…)`: one match of a language model, with affinetes' result fields.

The tasks, the opponents' simulations, two retries per decision, the score and the fields are those of affinetes.
Differences: search sees only what its seat may see. Every opponent has a separate random stream, in any number of
seats. The last observation is the model's own. An infrastructure failure has no score. Keys come only from the
environment."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from gymposium.errors import BadOption
from gymposium_affinetes.table import Table
from gymposium_affinetes.tasks import decode_task
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.engines.api_settings import OPENAI_URL, ApiSettings
from gymposium_agents.engines.protocol import ChatEngine
from gymposium_agents.players.api_player import ApiPlayer

MAX_MATCHES = 64
"""Maximum number of simultaneous matches. Further matches wait, and the wait counts toward their time limit."""


async def evaluate(
    *,
    task_id: int,
    seed: int,
    model: str,
    base_url: str | None = None,
    opponent: str = "mcts",
    timeout: float = 1800.0,
    temperature: float | None = None,
    api_key: None = None,
    key: str | None = None,
    reply: str = "tags",
    context: str = "full",
    max_tokens: int = 1024,
) -> dict[str, Any]:
    """Play one match of the task's game with `model`, and return the result in affinetes' fields.

    `model` is a model of the chat service at `base_url`, by default OpenAI's; `key` names the environment variable with
    its key. Without `base_url`, `model` may also be a directory with a model, which runs in this process. `opponent`
    is `mcts` (with affinetes' number of simulations for the game, or the random player if affinetes has none),
    `random`, or any gymposium player. Without `temperature`, a service uses its default, and a model in this process is
    greedy. A match that takes longer than `timeout` seconds has an `error`.

    The same task, seed and opponent give the same deal and the same opponents. Many calls may run at once.

    Raises `GymposiumError` for invalid arguments, and for an unknown model or key. A failure during the
    match is in the result's `error`, and its `score` is None."""
    if api_key is not None:
        raise BadOption("api_key= is not supported. Put the key in an environment variable and pass its name as key=.")
    if not timeout > 0:
        raise BadOption(f"timeout={timeout!r}: use a number of seconds greater than 0.")
    if type(seed) is not int:
        raise BadOption(f"seed={seed!r}: use an integer.")
    task = decode_task(task_id)
    settings = PlayerSettings(
        style="full", reply=reply, max_tokens=max_tokens, context=context, temperature=temperature or 0.0
    )

    def set_up() -> Table:
        if base_url is None and Path(model).is_dir():
            player = ApiPlayer(f"lm:{model}", _make_local_engine(model), settings)
        else:
            service = ApiSettings(model, base_url or OPENAI_URL, key, own_temperature=temperature is None)
            with _engine_lock:  # lru_cache alone may create two engines for two simultaneous threads
                engine = _get_engine(service)
            player = ApiPlayer(f"api:{model}", engine, settings)
        return Table.set_up(task, seed, player, opponent)

    began = time.monotonic()
    loop = asyncio.get_running_loop()
    table = await loop.run_in_executor(_get_executor(), set_up)  # no timeout: a model may have to be loaded
    try:
        async with asyncio.timeout(timeout):
            played, error = await loop.run_in_executor(_get_executor(), table.play)
    except TimeoutError:
        played, error = None, f"The match was unfinished after {timeout:g} s."
    finally:
        table.give_up()
    score = None if played is None else task.score(played, table.seat)
    result = {
        "task_name": f"openspiel:{task.family.name}",
        "score": score,
        "success": score is not None and score > 0.5,
        "time_taken": time.monotonic() - began,
        "extra": {**table.extra(played), "task_id": task_id, "seed": seed, "opponent_type": opponent},
    }
    return result if error is None else {**result, "error": error}


@cache
def _get_executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_MATCHES, thread_name_prefix="affinetes")


_engine_lock = Lock()


@lru_cache(maxsize=8)
def _get_engine(settings: ApiSettings) -> ChatEngine:
    """Return the engine for a service. All calls share it, and with it the service's limits."""
    from gymposium_agents.engines.chat_api import OpenAIChatEngine

    return OpenAIChatEngine(settings)


def _make_local_engine(model: str) -> ChatEngine:
    from gymposium_agents.engines.chat_tokens import TokenChatEngine
    from gymposium_agents.models.loading import load_chat
    from gymposium_agents.players.grammar import find_shared_engine

    return TokenChatEngine(find_shared_engine(model), load_chat(model))
