"""Small models with random weights: Qwen3's architecture, and a tokenizer for any text.

They are for tests, demonstrations and machines without a model hub. The result is an ordinary model directory.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from gymposium_agents.settings import PlayerSettings
from gymposium_agents.small_size import SmallModel

CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""The chat template. A role is one token, because with Qwen's longer frame around a short prompt a small model would
spend half of its time on the frame."""

_SPECIAL = ["<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]


def make_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of at most `vocabulary` tokens, trained on `texts`. It reads and writes any text,
    printable ASCII at worst one byte per token. White space starts a token and never ends one, so the cells of a board
    stay apart."""
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
    """The architecture of a small model with a vocabulary of this many tokens."""
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
    """Write a model with random weights, and a tokenizer trained on `texts`, to `directory`. The weights follow from
    `seed`; torch's global generator is left as it was. `size` is the default `SmallModel` if it is None. A
    `player.json` beside it says that the model gets compact prompts and replies with the bare move."""
    size = size or SmallModel()
    tokenizer = make_tokenizer(texts, size.vocabulary)
    config = small_config(size, len(tokenizer))
    config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    PlayerSettings("compact", "move", max_tokens=16).save(directory)
