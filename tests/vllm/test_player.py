"""The player `lm:MODEL@ADAPTER?engine=URL` plays through a server as it does in process."""

from __future__ import annotations

from pathlib import Path

import pytest

from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, Schedule, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Concurrent, MatchContext
from gymposium_agents.chat.tokens import BASE, Policy
from gymposium_agents.engines.vllm.server import Server
from gymposium_agents.players.distribution import estimate_distributions
from gymposium_agents.players.player import LanguageModelPlayer

from .conftest import FIRST, SECOND


def make_lm_player(text: str) -> LanguageModelPlayer:
    player = make_player(text)
    assert isinstance(player, LanguageModelPlayer)
    return player


@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
@pytest.mark.parametrize("context", ["state", "full"])
def test_served_adapters_play_as_in_process(
    server: Server, model_directory: Path, adapters: dict[Policy, Path], schedule: Schedule, context: str
) -> None:
    """Every turn of the server's match has the log-probabilities of the in-process engine."""
    names = [f"lm:{model_directory}@{adapters[policy]}" for policy in (FIRST, SECOND)]
    served = [
        make_lm_player(f"{name}?engine={server.url}&context={context}&temperature=1&max_tokens=6") for name in names
    ]
    here = [make_lm_player(name) for name in names]
    assert all(isinstance(player, Concurrent) for player in served)
    assert served[0].engine is served[1].engine
    assert [player.policy for player in served] == [player.policy for player in here]
    game, policy = load_game("goofspiel(num_cards=4)"), FailurePolicy.parse("random")
    jobs = [MatchJob(f"m{i}", game, served, i, on_illegal=policy) for i in range(6)]
    for played in play(jobs, schedule=schedule):
        assert len(played.turns) > 2
        for turn in played.turns:
            completion, whose = turn.trace.completion, here[turn.seat]
            assert completion.policy == whose.policy != BASE
            (scores,) = whose.engine.score([(turn.trace.prompt, completion.ids)], policy=whose.policy)
            assert completion.logprobs == pytest.approx(scores, abs=1e-4)
            assert turn.usage is not None
            assert turn.usage.seconds > 0


def test_served_distribution_matches_in_process(server: Server, model_directory: Path) -> None:
    served = make_lm_player(f"lm:{model_directory}?engine={server.url}&temperature=1")
    here = make_lm_player(f"lm:{model_directory}?temperature=1")
    ask = MatchContext(load_game("tic_tac_toe").new(0), "m", 0).ask(0)
    mine, theirs = served.distribution(ask), here.distribution(ask)
    assert mine.moves == theirs.moves
    assert mine.probabilities == pytest.approx(theirs.probabilities, abs=1e-3)
    assert mine.legal_mass == pytest.approx(theirs.legal_mass, rel=1e-2)


def test_other_temperatures_only_allow_estimates(server: Server, model_directory: Path) -> None:
    player = make_lm_player(f"lm:{model_directory}?engine={server.url}&temperature=0.5&max_tokens=4")
    ask = MatchContext(load_game("tic_tac_toe").new(0), "m", 0).ask(0)
    with pytest.raises(GymposiumError, match="only at temperature 1"):
        player.distribution(ask)
    assert estimate_distributions(player, [ask], samples=8)[0].samples == 8
