"""Matches on verifiers' environment server, which serves tasks to trainers such as prime-rl."""

from __future__ import annotations

import asyncio

import pytest
import verifiers.v1 as vf
from verifiers.v1.serve import EnvClient, EnvServer

from gymposium.records import Record
from gymposium_verifiers import MatchEnv, load_environment

from .endpoint import endpoint
from .evaluations import MODEL, facts


@pytest.mark.parametrize(("game", "seats"), [("kuhn_poker", "all"), ("hearts", "0,2"), ("mail", 0)])
def test_served_tasks_play_as_in_process(game: str, seats: str | int) -> None:
    env = load_environment(game, seats=seats)
    [task] = env.taskset.take(1)
    with endpoint() as served:
        client = vf.EvalClientConfig(base_url=served.url, api_key_var="NO_KEY")
        context = vf.ModelContext(model=MODEL, client=client, sampling=vf.SamplingConfig())
        here = asyncio.run(_play_locally(env, task, context))
        there = asyncio.run(_play_on_server(env, task, context))
    assert [trace.agent.name for trace in here.traces] == [trace.agent.name for trace in there.traces]
    for mine, theirs in zip(here.traces, there.traces, strict=True):
        assert mine.rewards == theirs.rewards
        assert mine.metrics == theirs.metrics
        assert mine.messages == theirs.messages
    assert facts(_record(here)) == facts(_record(there))


async def _play_locally(env: MatchEnv, task: vf.Task, context: vf.ModelContext) -> vf.Episode:
    async with env.serving():
        return await env.run_episode(task, context)


async def _play_on_server(env: MatchEnv, task: vf.Task, context: vf.ModelContext) -> vf.WireEpisode:
    server = EnvServer(env.config, "tcp://127.0.0.1:*")
    running = asyncio.create_task(server.run())
    client = EnvClient(server.address)
    try:
        await client.wait_for_server_startup(interval=0.05)
        return await client.run(context.client, context.model, context.sampling, task.data.model_dump(mode="json"))
    finally:
        await client.close()
        running.cancel()
        await running


def _record(episode: vf.Episode) -> Record:
    [line] = [trace.info["gymposium"]["record"] for trace in episode.traces if "record" in trace.info["gymposium"]]
    return Record.parse(line)
