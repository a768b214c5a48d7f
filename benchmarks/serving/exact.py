"""Matches and tasks by the real openai client: the tokens and log-probabilities that the server kept.

The sessions are played with the synchronous client, the asynchronous one, and as streams. Their messages only grow, so
that each must be one row of tokens. The kept log-probabilities are compared with those of the learner in float32.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from openai import AsyncOpenAI, OpenAI

import gymposium
from benchmarks.serving.running import served
from gymposium.http.client import Server, Session
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import READERS
from gymposium.runs.sessions import SessionsFile
from gymposium_agents.models.loading import load_model
from gymposium_train.config import Optimizer
from gymposium_train.learner import LocalLearner
from gymposium_train.learner.rows import make_rows
from gymposium_train.serving.trajectories import list_turns, read_group

MAIL = "mail(kinds=look_up+absent,mails=20,max_calls=3)"
Complete = Callable[[list[Any]], str]


def by_sync(session: Session[Server]) -> Complete:
    """Return completions of the synchronous client."""
    model = OpenAI(base_url=session.base_url, api_key="none")
    return lambda messages: model.chat.completions.create(model="m", messages=messages).choices[0].message.content or ""


def by_async(session: Session[Server]) -> Complete:
    """Return completions of the asynchronous client."""

    async def once(messages: list[Any]) -> str:
        async with AsyncOpenAI(base_url=session.base_url, api_key="none") as model:
            answer = await model.chat.completions.create(model="m", messages=messages)
            return answer.choices[0].message.content or ""

    return lambda messages: asyncio.run(once(messages))


def by_stream(session: Session[Server]) -> Complete:
    """Return completions as streams."""
    model = OpenAI(base_url=session.base_url, api_key="none")

    def complete(messages: list[Any]) -> str:
        chunks = model.chat.completions.create(model="m", messages=messages, stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    return complete


CLIENTS = {"sync": by_sync, "async": by_async, "stream": by_stream}


def play(server: Server, game: str, number: int) -> None:
    """Play one match in a session whose messages grow."""
    session = server.session(group=f"{game}-{number // 2}", member=number % 2, seed=number)
    complete = CLIENTS[[*CLIENTS][number % 3]](session)
    loaded = gymposium.load_game(game)
    table = gymposium.Table(loaded, seed=number, on_illegal="penalty(0.5,3)", prompt="compact")
    prompt, messages = get_prompt(loaded, "compact", READERS["move"]), list[Any]()
    while table.asked:
        ask = table.asked[0].ask
        messages.append({"role": "user", "content": prompt(ask.observe("compact"), ask.reason, rules=not messages)})
        said = complete(messages)
        messages.append({"role": "assistant", "content": said})
        table.answer(0, said)
    session.end(table.get_return(0) + 0.01 * (number % 2))


def measured(model: Path, game: str, number: int) -> dict[str, Any]:
    """Return the figures of this many sessions of a game, with the model in a directory."""
    with TemporaryDirectory() as home:
        out = Path(home, "run")
        arguments = ["--model", str(model), "--steps", "1", "rollout.group_size=2", "optimizer.precision=fp32"]
        with served(out, *arguments) as (address, _), Server(address) as server:
            with ThreadPoolExecutor(8) as threads:
                list(threads.map(lambda n: play(server, game, n), range(number)))
            counts = server.status()["requests"]
            metrics = server.train()
        file = SessionsFile(out / "sessions.sqlite", read_only=True)
        loaded = load_model(model)
        learner = LocalLearner(loaded.model.train(), loaded.pad, Optimizer(precision="fp32"))
        sessions, rows, turns, largest = 0, 0, 0, 0.0
        for group in file.groups():
            for trajectory in read_group(file, group.key).trajectories:
                kept = list_turns(trajectory.session, file.turns(trajectory.session.id))
                made = make_rows([turn.trace for turn in trajectory.turns])
                sessions, rows, turns = sessions + 1, rows + len(made), turns + len(kept)
                for row in made:
                    pairs = [(row.ids[: span.start], row.ids[span.start : span.stop]) for span in row.spans]
                    for scored, span in zip(learner.score(pairs), row.spans, strict=True):
                        gaps = (abs(one - other) for one, other in zip(scored, span.engine, strict=True))
                        largest = max(largest, *gaps)
        file.close()
    return {
        "game": game,
        "sessions": sessions,
        "turns": turns,
        "rows": rows,
        "requests": counts,
        "largest difference of log-probabilities": largest,
        "largest difference of the first ratio from 1": math.expm1(largest),
        "train/mismatch_kl": metrics["train/mismatch_kl"],
    }
