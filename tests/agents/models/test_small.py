"""A small model is an ordinary model directory with a tokenizer for any text."""

from __future__ import annotations

import os
import random
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, strategies as st

from gymposium.errors import BadOption
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_agents.models.small import make_prose_tokenizer, make_small_model, make_tokenizer


def test_printable_ascii_round_trips(tiny: LoadedModel) -> None:
    assert tiny.chat.read(tiny.chat.plain(string.printable)) == string.printable


@given(text=st.text(st.characters(exclude_categories=("Cs",)), max_size=40))
def test_any_text_round_trips(tiny: LoadedModel, text: str) -> None:
    assert tiny.chat.read(tiny.chat.plain(text)) == text


def test_moves_and_cells_are_single_tokens(tiny: LoadedModel) -> None:
    assert len(tiny.chat.plain("b2")) == 1
    assert len(tiny.chat.plain("x . o")) == 3


@pytest.mark.parametrize("begins", [[], [{"role": "system", "content": "be\n"}]])
@pytest.mark.parametrize("opened", [True, False])
def test_chat_without_tools_has_only_roles_and_texts(begins: list[Any], opened: bool, tiny: LoadedModel) -> None:
    messages = [
        *begins,
        {"role": "user", "content": "\n tools"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": " b2\n"},
    ]
    expected = "".join(f"<|{message['role']}|>{message['content']}<|end|>" for message in messages)
    for tools in (None, []):
        assert tiny.chat.tokenizer.apply_chat_template(
            messages, tools=tools, tokenize=False, add_generation_prompt=opened
        ) == expected + ("<|assistant|>" if opened else "")


def test_template_supports_tools(tiny: LoadedModel) -> None:
    assert tiny.chat.verdict.startswith("Chat template: tool calls as in hermes; history before a result is kept")


BOARDS = [f"rules of the game\n1{row}\nlegal a1 b1 c10" for row in ("x..x", "..ox", "xx.o", "....")]


def test_moves_and_shared_words_are_single_tokens() -> None:
    tokenizer = make_tokenizer(BOARDS, 400, ["a1", "b1", "c10"])
    rows = [tokenizer.tokenize(board)[4:9] for board in BOARDS]
    assert [row[1:] for row in rows] == [[*"x..x"], [*"..ox"], [*"xx.o"], [*"...."]]
    assert tokenizer.tokenize("rules game")[-1] == "Ġgame"
    assert tokenizer.tokenize(" a1 b1 c10") == ["Ġa1", "Ġb1", "Ġc10"]
    assert [tokenizer.tokenize(move) for move in ("a1", "c10")] == [["a1"], ["c10"]]


@pytest.mark.parametrize("vocabulary", [261, 270, 300])
def test_vocabulary_size_is_respected(vocabulary: int) -> None:
    tokenizer = make_tokenizer(BOARDS, vocabulary, [f"{column}{row}" for column in "abcdefgh" for row in range(1, 20)])
    assert len(tokenizer) <= vocabulary
    assert tokenizer.decode(tokenizer.encode(BOARDS[0])) == BOARDS[0]


LETTERS = [f'From: Ann Berg\nThe fee is {n},500 euros.\n{{"id": "m1{n}"}}' for n in range(4)]


def test_prose_words_are_tokens_and_the_rest_bytes() -> None:
    tokenizer = make_prose_tokenizer(LETTERS, 400)
    assert tokenizer.tokenize(LETTERS[0])[:8] == ["From", ":", "ĠAnn", "ĠBerg", "ĊThe", "Ġfee", "Ġis", "Ġ"]
    assert tokenizer.tokenize('"m12"}') == ['"', "m", "1", "2", '"}']
    assert tokenizer.tokenize("Bergé") == [*"BergÃ©"]
    assert all(tokenizer.decode(tokenizer.encode(text)) == text for text in (*LETTERS, "Bergé\t  ☃"))
    assert len(make_prose_tokenizer(LETTERS, 265)) == 265


@pytest.mark.slow
def test_tokenizer_is_deterministic_across_processes() -> None:
    program = (
        "from gymposium_agents.models.small import make_tokenizer\n"
        f"print(make_tokenizer({BOARDS!r}, 300, ['a1', 'b1']).backend_tokenizer.to_str())"
    )
    seeded = {**os.environ, "PYTHONHASHSEED": "1"}  # this process has another seed
    theirs = subprocess.run([sys.executable, "-c", program], env=seeded, capture_output=True, text=True, check=True)
    assert theirs.stdout.strip() == make_tokenizer(BOARDS, 300, ["a1", "b1"]).backend_tokenizer.to_str()


@pytest.mark.parametrize("prose", [False, True])
def test_untrained_model_copies_prompt_tokens(tmp_path: Path, prose: bool) -> None:
    letters = (*"abcde", "on", "to", "we", "it", "go")
    moves = [*letters] if prose else [f"{column}{row}" for column in "abcde" for row in range(1, 6)]
    texts = [*BOARDS, *(f"{word}\n {word}" for word in letters)] * 2
    make_small_model(tmp_path, texts, seed=0, size=SmallModel(prose=prose), moves=moves)
    loaded = load_model(tmp_path)
    for form in ("{}", " {}"):
        ids = torch.tensor([loaded.chat.plain(form.format(move))[0] for move in moves])
        listed, others = 0.0, 0.0
        for seed in range(8):
            some = random.Random(seed).sample(moves, 5)
            prompt = loaded.chat.prompt(f"legal {' '.join(some)}\nmove:")
            with torch.no_grad():
                logits = loaded.model(torch.tensor([prompt])).logits[0, -1][ids]
            chosen = torch.tensor([move in some for move in moves])
            listed, others = listed + float(logits[chosen].mean()), others + float(logits[~chosen].mean())
        assert listed / 8 > others / 8 + 0.2, form


def test_weights_depend_only_on_the_seed(
    tmp_path: Path, tiny: LoadedModel, tiny_size: SmallModel, game_texts: list[str], game_moves: list[str]
) -> None:
    before = torch.random.get_rng_state()
    make_small_model(tmp_path / "same", game_texts, seed=1, size=tiny_size, moves=game_moves)
    make_small_model(tmp_path / "other", game_texts, seed=2, size=tiny_size, moves=game_moves)
    assert torch.equal(torch.random.get_rng_state(), before)
    name = "model.decoder.layers.0.fc1.weight"
    same, other = (load_model(tmp_path / which).model.state_dict()[name] for which in ("same", "other"))
    mine = tiny.model.state_dict()[name]
    assert torch.equal(mine, same)
    assert not torch.equal(mine, other)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"layers": 0}, "layers is 0"),
        ({"hidden": 100, "heads": 3}, "a multiple of 3"),
        ({"hidden": 9, "heads": 4}, "4"),
    ],
)
def test_invalid_sizes_are_refused(size: dict[str, int], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        SmallModel(**size)
