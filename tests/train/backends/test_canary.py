"""Prompts and tolerance for the check after each update that the engine plays the learned policy."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.train.learning import learning, make_pairs

from gymposium import load_game
from gymposium.errors import GymposiumError
from gymposium.replies.reading import get_reader
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train.backends.canary import sample_prompts
from gymposium_train.learner.precision import compute_tolerance


def test_learner_scores_match_engine_scores(model_directory: Path) -> None:
    loaded, learner = learning(model_directory)
    engine = loaded.engine(Policy("learner", 0))
    pairs = [*make_pairs(loaded), make_pairs(loaded)[0]]
    for mine, theirs in zip(learner.score(pairs), engine.score(pairs), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-5)
    assert all(parameter.grad is None for parameter in learner.named.values())


@pytest.mark.parametrize("game", ["tic_tac_toe", "goofspiel(num_cards=4)", "2048", "trace"])
def test_every_kind_of_game_has_prompts(tiny: LoadedModel, game: str) -> None:
    """Turn by turn, simultaneous, with one seat, and free text; the prompts are the same each time."""
    loaded = load_game(game)
    found = [
        sample_prompts(loaded, "compact", get_reader("move"), tiny.chat, context=4096, seed=3, number=2)
        for _ in range(2)
    ]
    assert found[0] == found[1]
    assert len(set(found[0])) == 2


def test_prompts_leave_room_for_a_reply(tiny: LoadedModel) -> None:
    chat, game = tiny.chat, load_game("tic_tac_toe")
    lengths = sorted(len(p) for p in sample_prompts(game, "compact", get_reader("move"), chat, context=4096, seed=0))
    found = sample_prompts(game, "compact", get_reader("move"), chat, context=lengths[0] + 1, seed=0)
    assert {len(prompt) for prompt in found} == {lengths[0]}
    with pytest.raises(GymposiumError, match=r'too short for a prompt of tic_tac_toe.*prompting.prompt = "compact"'):
        sample_prompts(game, "compact", get_reader("move"), chat, context=lengths[0], seed=0)


def test_tolerance_follows_the_coarsest_dtype(tiny: LoadedModel, model_directory: Path) -> None:
    assert compute_tolerance(tiny.model, torch.float32) == 5e-5
    assert compute_tolerance(tiny.model, torch.float16) == 0.015
    pytest.importorskip("bitsandbytes")
    quantized = load_model(model_directory, load="4bit").model
    assert compute_tolerance(quantized, quantized.dtype) == 5e-5
    quantized.config.quantization_config.bnb_4bit_compute_dtype = torch.bfloat16  # as on a GPU
    assert compute_tolerance(quantized, quantized.dtype) == 0.1
