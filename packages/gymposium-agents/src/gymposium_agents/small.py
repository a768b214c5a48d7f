"""A small model made on the spot: Qwen3's architecture with random weights, and a tokenizer for any text.

For tests, demonstrations and machines without a model hub. It is an ordinary model directory, read back
by the ordinary loading code.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from gymposium_agents.small_size import SmallModel

CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""A role is one token: half of a small model's time would go into Qwen's longer frame around a short prompt."""

_SPECIAL = ["<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]


def make_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer: it reads and writes any text, printable ASCII one byte a token at
    worst, and has single tokens for the words that `texts` repeat. White space starts a token and never
    ends one, so the cells of a board stay apart."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"[ \n]?[^\s]+|\s"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=_SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    made: PreTrainedTokenizerFast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        eos_token="<|end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
    return made


def small_config(size: SmallModel, vocabulary: int) -> Qwen3Config:
    """The architecture of a small model with so many tokens."""
    return Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=size.hidden,
        intermediate_size=size.feed_forward,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        head_dim=size.hidden // size.heads,
        max_position_embeddings=size.context,
        initializer_range=size.initializer_range,
        tie_word_embeddings=True,
        bos_token_id=None,
    )


def make_small_model(directory: Path, texts: Iterable[str], *, seed: int, size: SmallModel | None = None) -> None:
    """Write a model with random weights from `seed`, and a tokenizer trained on `texts`, to `directory`."""
    size = size or SmallModel()
    tokenizer = make_tokenizer(texts, size.vocabulary)
    config = small_config(size, len(tokenizer))
    config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    with torch.random.fork_rng():  # the weights come from `seed`; the global generator stays as it was
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
