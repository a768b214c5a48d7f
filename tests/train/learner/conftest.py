"""A small model with a LoRA, and rows that its engine sampled: with one turn, with several, and equal ones."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
import torch

from gymposium_agents.chat.tokens import Sampling, TokenRequest
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_agents.players.distribution import find_continuations
from gymposium_train.learner import layouts
from gymposium_train.learner.rows import Row, Span, fill_spans

TEMPERATURE = 0.8


@pytest.fixture(autouse=True)
def always_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout `shared` shares prefixes however few tokens it saves."""
    monkeypatch.setattr(layouts, "WORTH_SHARING", -math.inf)


@pytest.fixture
def loaded(model_directory: Path) -> LoadedModel:
    """A model with a LoRA that is not zero, so that every part of it has a gradient."""
    base = load_model(model_directory)
    model = attach_lora(base.model, rank=4, alpha=8, seed=3)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1, generator=generator)
    return LoadedModel(model, base.chat)


@pytest.fixture
def rows(loaded: LoadedModel) -> list[Row]:
    """Sampled rows with advantages and equal weights of tokens. The legal replies of a prompt are the first one that
    was sampled and some others, so replies are legal, leave the tree of legal replies, or begin outside of it. Some
    equal rows differ in what was legal."""
    rng, engine = random.Random(5), loaded.engine()
    prompts = [loaded.chat.prompt(text) for text in ("x . o", ". . .", "card K", "card J\nmoves pass")]
    more = [loaded.chat.plain(text) for text in (" . x", "\npot 3")]

    def sampled(streams: list[tuple[int, ...]], seed: int) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
        asked = [TokenRequest(ids, random.Random(seed + i)) for i, ids in enumerate(streams)]
        return [(found.ids, found.logprobs) for found in engine.generate(asked, Sampling(TEMPERATURE, 3))]

    first = sampled([prompts[i % 4] for i in range(20)], 0)
    found = []
    for i, (ids, logprobs) in enumerate(first):
        start = len(prompts[i % 4])
        found.append(Row(prompts[i % 4] + ids, (Span(start, start + len(ids), logprobs),)))
    growing = [row.ids + more[i % 2] for i, row in enumerate(found[:8])]
    for i, (ids, logprobs) in enumerate(sampled(growing, 100)):
        start = len(growing[i])
        earlier = found[i].spans[0]
        spans = Span(earlier.start, earlier.stop, earlier.engine), Span(start, start + len(ids), logprobs)
        found.append(Row(growing[i] + ids, spans))
    found += found[4:12]
    tokens = sum(row.sampled for row in found)
    first_of: dict[tuple[int, ...], tuple[int, ...]] = {}
    legal = []
    for number, row in enumerate(found):
        for span in row.spans:
            said = row.ids[span.start : span.stop]
            one = first_of.setdefault(row.ids[: span.start], said)
            others = [(one[0], 7, 8), (9, one[-1]), (5, 4), (11,)][: 4 if number < 30 else 2]
            legal.append(find_continuations([one, *others], said))
    drawn = [(rng.gauss(0.0, 1.0), rng.gauss(0.0, 1.0)) for _ in legal]
    advantages, targets = zip(*drawn, strict=True)
    weights = [1.0 / tokens] * len(legal)
    return fill_spans(found, legal=legal, advantage=advantages, target=targets, weight=weights)
