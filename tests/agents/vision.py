"""A tiny vision model for tests: Idefics3 with random weights."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import torch
from transformers import (
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3ImageProcessorPil,
    Idefics3Processor,
    PreTrainedTokenizerFast,
)

TEMPLATE = (  # contents are lists of parts, as in SmolVLM's
    "{% for message in messages %}{{ message['role'] | capitalize }}:"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}{{ '<image>' }}"
    "{% else %}{{ ' ' + part['text'] }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)
PARTS = 4
"""Tokens of a picture: 64 patches, of which 16 become one."""


def save_vision_model(directory: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """Write an Idefics3 model with random weights, as small as it can be, with its processor."""
    tokenizer = deepcopy(tokenizer)
    tokenizer.add_special_tokens({
        "additional_special_tokens": ["<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>"],
        "eos_token": "<end_of_utterance>",
    })  # fmt: skip
    tokenizer.chat_template = TEMPLATE
    pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
    text = {"model_type": "llama", "num_hidden_layers": 2, "num_key_value_heads": 1, "max_position_embeddings": 2048}
    config = Idefics3Config(
        text_config={**sizes, **text, "vocab_size": len(tokenizer), "pad_token_id": pad, "eos_token_id": end},
        vision_config={**sizes, "num_hidden_layers": 1, "image_size": 64, "patch_size": 8},
        scale_factor=4,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=pad,
        eos_token_id=end,
    )
    torch.manual_seed(0)
    Idefics3ForConditionalGeneration(config).save_pretrained(directory)
    edge = {"longest_edge": 64}
    images = Idefics3ImageProcessorPil(size=edge, max_image_size=edge, do_image_splitting=False)
    Idefics3Processor(images, tokenizer, image_seq_len=PARTS, chat_template=TEMPLATE).save_pretrained(directory)
