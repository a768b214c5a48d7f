"""No reply is lost if the server is killed (`kill -9`) during a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from gymposium import load_game, make_player
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest, TurnTokens
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import Server
from gymposium_agents.models.loading import load_chat
from gymposium_agents.players.player import LanguageModelPlayer

from .conftest import SECOND

pytestmark = pytest.mark.slow  # its server is started again

MATCHES = 32


class KillingEngine(VllmEngine):
    """An engine that kills its server between two requests of one round."""

    left = -1

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        future = super().submit(request, sampling)
        self.left -= 1
        if self.left == 0:
            kill(self._fleet.members[0].connection.server)
        return future


def kill(server: Server | None) -> None:
    """Kill the process that holds the model, as the system does when it runs out of memory."""
    assert server is not None
    [victim] = [
        pid for pid in members(server.group) if b"--served-model-name\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    os.kill(victim, signal.SIGKILL)


def members(group: int | None) -> Iterator[int]:
    """The processes of the server, without its keeper."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended since
            continue
        pid = int(stat.parent.name)
        if int(fields[2]) == group != pid and fields[0] != "Z":
            yield pid


@pytest.fixture
def killing_engine(
    server: Server, model_directory: Path, adapters: dict[Policy, Path], end: int
) -> Iterator[KillingEngine]:
    with KillingEngine(server.url, model=str(model_directory), stops=frozenset({end})) as made:
        made.publish(adapters[SECOND], SECOND)
        yield made


def play_matches(engine: VllmEngine, model: Path) -> list[MatchResult]:
    player = LanguageModelPlayer("lm", engine, load_chat(model), sampling=Sampling(0.6, 8))
    search = make_player("mcts-5")
    policy, game = FailurePolicy.parse("random"), load_game("tic_tac_toe")
    jobs = [
        MatchJob(f"m{i}", game, [player, search] if i % 2 else [search, player], seed=i, on_illegal=policy)
        for i in range(MATCHES)
    ]
    return sorted(play(jobs), key=lambda played: played.job.id)


def test_killed_server_loses_no_reply(killing_engine: KillingEngine, server: Server, model_directory: Path) -> None:
    undisturbed = play_matches(killing_engine, model_directory)
    killing_engine.left, restarts = 40, server.restarts
    disturbed = play_matches(killing_engine, model_directory)
    assert (killing_engine.left < 0, killing_engine.recoveries, server.restarts) == (True, 1, restarts + 1)
    assert len(disturbed) == MATCHES
    for before, after in zip(undisturbed, disturbed, strict=True):
        assert before.events == after.events
        assert before.utilities == after.utilities
        assert [turn.text for turn in before.turns] == [turn.text for turn in after.turns]
    # the adapters are held again
    assert killing_engine.policy == SECOND
    traces = [turn.trace for played in disturbed for turn in played.turns if isinstance(turn.trace, TurnTokens)]
    assert {trace.completion.policy for trace in traces} == {SECOND}
