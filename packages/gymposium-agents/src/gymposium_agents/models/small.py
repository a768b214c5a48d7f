"""Small models with random weights, for boards or for prose, and tokenizers for any text.

They are for tests, demonstrations and machines without access to a model hub. The result is an ordinary model
directory.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, LlamaConfig, OPTConfig, PreTrainedTokenizerFast

from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.small_size import CHAT_TEMPLATE, SmallModel

_SPECIAL = ["<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]


_AS_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
_CHUNK = r"[ \n]?[^\s,]+|[\s,]"
"""The pattern of text pieces that no token crosses: a word with the preceding white space, or a comma."""
_PROSE_CHUNK = r"[ \n]?[^\W\d_]+|[ \n]?\d+|[ \n]?(?:[^\s\w]|_)+|\s"
"""The pattern of such pieces in prose: letters, digits or symbols, with the preceding white space."""
_BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
_SPACES = ("Ġ", "Ċ")
"""A space and a line break, in the tokenizer's representation."""
EMBEDDING_SCALE = 3.0
"""Ratio of the embeddings' standard deviation to that of other initial weights."""
SHARED = 0.25
"""A word becomes one token if at least this share of the texts contain it."""


def _make_splitter(chunk: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(chunk), behavior="isolated"), _AS_BYTES])


def make_tokenizer(texts: Iterable[str], vocabulary: int, moves: Iterable[str] = ()) -> PreTrainedTokenizerFast:
    """Make a byte-level tokenizer of at most `vocabulary` tokens for these texts and moves. It reads and writes any
    text. Printable ASCII takes at most one token per byte.

    Its tokens make prompts easy to learn from:

    - A move is one token if the vocabulary allows it, both with a space before it, as in a list of moves, and without
      one, as in a reply.
    - A word in many of the texts is one token.
    - Other text is one token per character, so a cell of a board is at the same place in each prompt. Pairs that
      are frequent in the rows of boards are never merged, as BPE alone would do.
    - White space is one token with the next character.

    `moves` are counted: if not all can be one token, the more frequent ones are."""
    words, pairs, number = Counter[str](), Counter[tuple[str, str]](), 0
    for text in texts:
        number += 1
        chunks = [_convert_to_bytes(chunk) for chunk in re.findall(_CHUNK, text)]
        words.update(dict.fromkeys(chunks, 1))
        pairs.update((chunk[0], chunk[1]) for chunk in chunks if chunk[0] in _SPACES and len(chunk) > 1)
    most = (vocabulary - len(_SPECIAL) - len(_BYTES)) // 3
    shared = [word for word, count in words.most_common() if count >= SHARED * number and _is_word(word)][:most]
    joined = [pair for pair, _ in pairs.most_common(most)]
    ids, merges = _train_move_tokens(moves, vocabulary - len(shared) - len(joined))
    merges += [pair for pair in joined if pair not in merges]
    for token in (*map("".join, joined), *shared):
        ids.setdefault(token, len(ids))
    return _build_tokenizer(ids, merges, _CHUNK)


def make_prose_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Make a byte-level tokenizer of at most `vocabulary` tokens for this prose. It reads and writes any text.

    Its tokens are the words, numbers and runs of symbols in most texts, with the preceding white space. A model that
    answers with words from its prompt therefore has few tokens to copy. Other text is one token per byte."""
    words = Counter[str]()
    for text in texts:
        words.update(dict.fromkeys((_convert_to_bytes(chunk) for chunk in re.findall(_PROSE_CHUNK, text)), 1))
    ids = {token: number for number, token in enumerate((*_SPECIAL, *_BYTES))}
    space = max(0, vocabulary - len(ids))
    often = [word for word, count in words.most_common() if count > 1 and word not in ids]
    for word in often[:space]:
        ids[word] = len(ids)
    return _build_tokenizer(ids, [], _PROSE_CHUNK)


def _build_tokenizer(ids: dict[str, int], merges: list[tuple[str, str]], chunk: str) -> PreTrainedTokenizerFast:
    """Make a tokenizer with these tokens and merges. No token extends beyond a piece of text matched by the expression
    `chunk`."""
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges, ignore_merges=True))
    tokenizer.pre_tokenizer = _make_splitter(chunk)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(_SPECIAL)
    made: PreTrainedTokenizerFast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        eos_token="<|end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
    return made


def _train_move_tokens(moves: Iterable[str], vocabulary: int) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Train BPE on moves only, and return its tokens and merges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = _make_splitter(_CHUNK)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=_SPECIAL, initial_alphabet=_BYTES, show_progress=False
    )
    tokenizer.train_from_iterator((text for move in moves for text in (move, f" {move}")), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [(left, right) for left, right in model["merges"]]


def _convert_to_bytes(chunk: str) -> str:
    """Return the text in the tokenizer's representation, one character per byte."""
    return "".join(piece for piece, _ in _AS_BYTES.pre_tokenize_str(chunk))


def _is_word(chunk: str) -> bool:
    """Return True if a chunk, in the tokenizer's representation, may be one token although it is not a move. Such a
    chunk has several characters and no digits, because numbers and names of cells differ in each prompt."""
    return len(chunk) > 1 and not any(character.isdigit() for character in chunk)


def make_small_config(size: SmallModel, vocabulary: int) -> OPTConfig | LlamaConfig:
    """Return the architecture of a small model with this vocabulary size.

    For boards, it is OPT (Zhang et al., 2022), whose positions are learned. A cell of a board is at the same position
    in each prompt. A small model learns to read boards much sooner from learned positions than from rotary ones, which
    it can only compare. Squared ReLU (So et al., 2021) lets it recognize patterns in few steps, such as three cells in
    a line. For prose, it is Llama (Touvron et al., 2023). Its rotary positions let it find the word that it has just
    written anywhere in the prompt, and copy the next one."""
    if size.prose:
        return LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=size.hidden,
            intermediate_size=size.feed_forward,
            num_hidden_layers=size.layers,
            num_attention_heads=size.attention_heads,
            max_position_embeddings=size.context,
            initializer_range=size.initializer_range,
            tie_word_embeddings=True,
            bos_token_id=None,
        )
    return OPTConfig(
        vocab_size=vocabulary,
        hidden_size=size.hidden,
        word_embed_proj_dim=size.hidden,
        ffn_dim=size.feed_forward,
        num_hidden_layers=size.layers,
        num_attention_heads=size.attention_heads,
        max_position_embeddings=size.context,
        init_std=size.initializer_range,
        activation_function="relu2",
        dropout=0.0,
        tie_word_embeddings=True,
        bos_token_id=None,
    )


def begin_with_copying(model: Any, vocabulary: Mapping[str, int], deviation: float) -> None:
    """Change random weights so that the model begins by naming tokens of its prompt. It then learns in a fraction of
    the steps to answer with a move that the prompt lists.

    The values and outputs of each attention layer together become the identity, so that a layer adds the mean of what
    its heads attend to. The output layer, which shares the embeddings, then predicts those tokens (after Trockman &
    Kolter, 2023, "Mimetic initialization"). Tokens that differ only by a preceding space have embeddings that differ by
    the same vector, because a list has the space and a reply does not. `deviation` is the standard deviation of the
    weights. The model has as many key-value heads as query heads."""
    decoder = model.get_decoder()
    with torch.no_grad():
        embeddings: torch.Tensor = decoder.embed_tokens.weight
        embeddings.mul_(EMBEDDING_SCALE)
        if isinstance(model.config, OPTConfig):
            decoder.embed_positions.weight.mul_(EMBEDDING_SCALE)
        without_space = torch.randn(embeddings.shape[1]) * deviation * EMBEDDING_SCALE
        for token, number in vocabulary.items():
            bare = vocabulary.get(token.removeprefix(_SPACES[0]))
            if bare is not None and bare != number:
                embeddings[bare] = embeddings[number] + without_space
        for layer in decoder.layers:
            attention = layer.self_attn
            values = attention.v_proj.weight
            output = (attention.out_proj if isinstance(model.config, OPTConfig) else attention.o_proj).weight
            turned, _ = torch.linalg.qr(torch.randn(values.shape))
            values.copy_(turned)
            output.copy_(turned.T)


def make_small_model(
    directory: Path,
    texts: Iterable[str],
    *,
    seed: int,
    size: SmallModel | None = None,
    moves: Iterable[str] = (),
) -> None:
    """Write a model with random weights and a tokenizer to `directory`. The tokenizer is for `texts` and `moves`
    (`make_tokenizer`), or for `texts` in prose (`make_prose_tokenizer`). The weights follow from `seed`. torch's global
    generator is unchanged. `size` defaults to `SmallModel()`. A `player.json` beside it selects compact prompts and
    replies with the bare move."""
    size = size or SmallModel()
    if size.prose:
        tokenizer = make_prose_tokenizer(texts, size.tokens)
    else:
        tokenizer = make_tokenizer(texts, size.tokens, moves)
    config = make_small_config(size, len(tokenizer))
    config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model: Any = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
        begin_with_copying(model, tokenizer.get_vocab(), size.initializer_range)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    PlayerSettings("compact", "move", max_tokens=16).save(directory)
