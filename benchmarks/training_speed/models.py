"""Models that are made on the spot for speed alone: Qwen3's architecture, random weights, one token a character."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import ascii_letters, digits, punctuation
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from gymposium_agents.chat.small_size import CHAT_TEMPLATE
from gymposium_agents.models.loading import LoadedModel, load_model

SPECIAL = ["<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
ONE_MILLION: dict[str, Any] = {
    "hidden_size": 128,
    "intermediate_size": 384,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
}
"""997,696 parameters with the 101 tokens of `make_characters`."""
TINY = ONE_MILLION | {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "head_dim": 8}
ONE_TRL_STEP: dict[str, Any] = {
    "max_steps": 1,
    "lr_scheduler_type": "constant",
    "save_strategy": "no",
    "logging_strategy": "no",
    "report_to": [],
    "disable_tqdm": True,
    "use_cpu": True,
    "bf16": False,
}
"""Settings of a `GRPOConfig` whose trainer takes one step on a CPU in float32 at each `train`, and writes nothing."""


def make_characters() -> PreTrainedTokenizerFast:
    """Return a tokenizer with a token for each printable ASCII character and for the line's end."""
    words = [*SPECIAL, *ascii_letters, *digits, *punctuation, " ", "\n"]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(SPECIAL)
    made: PreTrainedTokenizerFast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        eos_token="<|end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
    return made


def architecture(vocabulary: int, size: Mapping[str, Any]) -> Qwen3Config:
    """Tied embeddings, as in Qwen's small models."""
    return Qwen3Config(
        vocab_size=vocabulary,
        **size,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=SPECIAL.index("<|end|>"),
        pad_token_id=0,
    )


def make_model(directory: Path, size: Mapping[str, Any]) -> None:
    """Write a model over characters to `directory`."""
    tokenizer = make_characters()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Qwen3ForCausalLM(architecture(len(tokenizer), size))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def load_whole(directory: Path) -> LoadedModel:
    """Return the model, all of whose weights are to be learned."""
    loaded = load_model(directory)
    loaded.model.requires_grad_(True)
    return loaded
