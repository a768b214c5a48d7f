"""Rows of language-model matches mark exactly the sampled tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from tests.agents.conftest import FAMILIES, family_tokenizer  # noqa: F401
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.records.trajectories import Trajectory
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import Sampling, TurnTokens
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.models.small import make_small_config
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.learner.rows import make_rows

Models = Callable[[str], LoadedModel]

CONTEXTS = ("state", "full", "truncated", "last-2")
GROWING = {"qwen2.5", "llama3", "gemma"}
"""Families whose templates leave alone what was said before."""


@pytest.fixture(scope="module")
def random_model(family_tokenizer: Callable[[str], PreTrainedTokenizerFast]) -> Models:  # noqa: F811
    """A model with the tokenizer and the chat template of a family. Its weights are random, so its replies contain
    broken characters, control tokens and ends of turns, or are empty."""

    @cache
    def make(family: str) -> LoadedModel:
        chat = Chat(family_tokenizer(family))
        config = make_small_config(SmallModel(hidden=16, layers=1, heads=2, feed_forward=32), len(chat.tokenizer))
        with torch.random.fork_rng():
            torch.manual_seed(1)
            return LoadedModel(AutoModelForCausalLM.from_config(config).eval(), chat)  # type: ignore[no-untyped-call]

    return make


def trajectories(loaded: LoadedModel, context: str, seed: int, max_tokens: int, game: str) -> Iterator[Trajectory]:
    """The trajectories of both seats, in matches that continue after failed replies."""
    sampling = Sampling(1.5, max_tokens)
    player = LanguageModelPlayer("lm:any", loaded.engine(), loaded.chat, sampling=sampling, context=context)
    policy = FailurePolicy.parse("random")
    jobs = [MatchJob(f"m{n}", load_game(game), [player, player], seed + n, on_illegal=policy) for n in range(2)]
    for played in play(jobs, at_once=2):
        yield from (Trajectory.from_match(played, seat) for seat in (0, 1))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("context", CONTEXTS)
@given(seed=st.integers(0, 10_000), max_tokens=st.integers(1, 7), game=st.sampled_from(["tic_tac_toe", "leduc_poker"]))
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_spans_mark_exactly_the_sampled_tokens(
    random_model: Models, family: str, context: str, seed: int, max_tokens: int, game: str
) -> None:
    loaded = random_model(family)
    several = False
    for trajectory in trajectories(loaded, context, seed, max_tokens, game):
        traces: list[TurnTokens] = [turn.trace for turn in trajectory.turns]
        rows = make_rows(traces)
        found = [(row, span) for row in rows for span in row.spans]
        assert len(found) == len(traces)
        for turn, trace, (row, span) in zip(trajectory.turns, traces, found, strict=True):
            sampled = row.ids[span.start : span.stop]
            assert sampled == trace.completion.ids
            assert loaded.chat.read(sampled) == turn.text
            assert row.ids[: span.start] == trace.prompt
            assert span.engine == trace.completion.logprobs
        for row in rows:
            assert row.spans[0].start > 0
            assert all(before.stop < after.start for before, after in pairwise(row.spans))
            assert row.sampled == sum(map(len, row.spans))
            assert row.ids == row.ids[: row.spans[-1].stop]  # nothing behind what was said last
        if context == "full" and family in GROWING:
            assert len(rows) == min(1, len(traces))
        elif context == "state":
            assert len(rows) == len(traces)
        several |= len(traces) > 1
    assume(several)  # a match may be over before its second turn, and shows nothing then


def test_families_differ_in_growing_history(random_model: Models) -> None:
    """Otherwise the test above would not cover rows with several turns, or histories that are split into rows."""
    assert {family for family in FAMILIES if random_model(family).chat.grows("user")} == GROWING
