"""A small model is an ordinary model directory with a tokenizer for any text."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
import torch
from hypothesis import given, strategies as st

from gymposium.errors import BadOption
from gymposium_agents.loading import LoadedModel, load_model
from gymposium_agents.small import make_small_model
from gymposium_agents.small_size import SmallModel


def test_printable_ascii_survives(tiny: LoadedModel) -> None:
    assert tiny.chat.read(tiny.chat.plain(string.printable)) == string.printable


@given(text=st.text(st.characters(exclude_categories=("Cs",)), max_size=40))
def test_any_text_survives(tiny: LoadedModel, text: str) -> None:
    assert tiny.chat.read(tiny.chat.plain(text)) == text


def test_moves_and_cells_are_single_tokens(tiny: LoadedModel) -> None:
    assert len(tiny.chat.plain("b2")) == 1
    assert len(tiny.chat.plain("x . o")) == 3


def test_the_seed_decides_the_weights_and_nothing_else_is_drawn(
    tmp_path: Path, tiny: LoadedModel, tiny_size: SmallModel, game_texts: list[str]
) -> None:
    before = torch.random.get_rng_state()
    make_small_model(tmp_path / "same", game_texts, seed=1, size=tiny_size)
    make_small_model(tmp_path / "other", game_texts, seed=2, size=tiny_size)
    assert torch.equal(torch.random.get_rng_state(), before)
    name = "model.layers.0.mlp.up_proj.weight"
    same, other = (load_model(tmp_path / which).model.state_dict()[name] for which in ("same", "other"))
    mine = tiny.model.state_dict()[name]
    assert torch.equal(mine, same)
    assert not torch.equal(mine, other)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"layers": 0}, "layers is 0"),
        ({"hidden": 100, "heads": 3}, "a multiple of 6"),
        ({"hidden": 9, "heads": 3}, "6"),
    ],
)
def test_a_size_that_cannot_be_is_refused(size: dict[str, int], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        SmallModel(**size)
