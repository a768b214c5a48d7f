"""Small tokenizers like those of model families, each with a similar chat template."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

TEMPLATES = Path(__file__).with_name("templates")
FAMILIES = ("qwen2.5", "qwen3", "llama3", "gemma")
"""The families for tests without tools."""

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_TEXTS = [
    "user\nassistant\nmodel\nsystem\n\nYou are a helpful assistant, made for tests.",
    "Moves: a1 b2 c3.\n\nx . o\n. x .\n\n<move>b2</move> move: b2 b2 bid 4 <think> the board </think>\n\n",
    "  two  spaces   and \n\n\n lines; im_start im_end tool_call start_of_turn start_header_id eot_id |> <|",
] * 4

Make = Callable[[str], PreTrainedTokenizerFast]


def _trained(pieces: pre_tokenizers.PreTokenizer, alphabet: list[str]) -> dict[str, Any]:
    """Vocabulary and merges of a byte-pair model of these texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pieces
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(_TEXTS, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return {"vocab": model["vocab"], "merges": [tuple(merge) for merge in model["merges"]]}


def _byte_level(*, whole_words: bool = False) -> Tokenizer:
    pieces = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(_WORDS), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    model = _trained(pieces, sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer = Tokenizer(models.BPE(**model, ignore_merges=whole_words))
    tokenizer.pre_tokenizer = pieces
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _qwen(*tags: str) -> PreTrainedTokenizerFast:
    """Control tokens behind the vocabulary, some of them not special; text is put into Unicode's composed form."""
    tokenizer = _byte_level()
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken(tag, normalized=False) for tag in tags])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def _llama() -> PreTrainedTokenizerFast:
    """A post-processor that adds the beginning-of-text token, which the template adds as well."""
    tokenizer = _byte_level(whole_words=True)
    names = ["begin_of_text", "end_of_text", "start_header_id", "end_header_id", "eot_id", "reserved_special_token_0"]
    tokenizer.add_special_tokens([f"<|{name}|>" for name in names])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|begin_of_text|> $A",
        special_tokens=[("<|begin_of_text|>", tokenizer.token_to_id("<|begin_of_text|>"))],
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|begin_of_text|>", eos_token="<|eot_id|>")


def _gemma() -> PreTrainedTokenizerFast:
    """Spaces are ▁, rare characters bytes; control tokens and some white space are part of the vocabulary."""
    pieces = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex("\n+"), behavior="isolated"),
        pre_tokenizers.Split(Regex("▁+[^▁\n]*|[^▁\n]+"), behavior="isolated"),
    ])  # fmt: skip
    training = Tokenizer(models.BPE())
    training.normalizer = normalizers.Replace(" ", "▁")
    training.pre_tokenizer = pieces
    trainer = trainers.BpeTrainer(vocab_size=260, show_progress=False)
    training.train_from_iterator(_TEXTS, trainer)
    model = json.loads(training.to_str())["model"]
    names = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", "<table>", "\n\n", "▁▁"]
    names += [f"<0x{byte:02X}>" for byte in range(256)]
    vocabulary = {name: i for i, name in enumerate(dict.fromkeys([*names, *model["vocab"]]))}
    merges = [tuple(merge) for merge in model["merges"]]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(names[:6])
    tokenizer.add_tokens([AddedToken(name, normalized=False) for name in names[6:9]])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", unk_token="<unk>"
    )


def _glm() -> PreTrainedTokenizerFast:
    """The headers of messages are tokens, and nothing else ends a turn. Tags of thoughts and calls are tokens."""
    tokenizer = _byte_level()
    names = ["<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"]
    tokenizer.add_special_tokens(names)
    tags = [
        f"<{end}{name}>"
        for name in ("think", "tool_call", "tool_response", "arg_key", "arg_value")
        for end in ("", "/")
    ]
    tokenizer.add_tokens([AddedToken(tag, normalized=False) for tag in tags])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")


def _gpt_oss() -> PreTrainedTokenizerFast:
    """Several tokens end a message; one of them ends a reply, and another a call."""
    tokenizer = _byte_level()
    names = ["endoftext", "start", "end", "message", "channel", "constrain", "call", "return"]
    tokenizer.add_special_tokens([f"<|{name}|>" for name in names])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|return|>")


_QWEN3 = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
_MAKERS: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    "qwen2.5": lambda: _qwen("<tool_call>", "</tool_call>"),
    "qwen3": lambda: _qwen(*_QWEN3),
    "qwen3-2507": lambda: _qwen(*_QWEN3),
    "qwen3-coder": lambda: _qwen(*_QWEN3),
    "llama3": _llama,
    "gemma": _gemma,
    "glm4": _glm,
    "gpt-oss": _gpt_oss,
    "smollm2": _qwen,
}


@pytest.fixture(scope="session")
def family_tokenizer() -> Make:
    """The tokenizer of a family, with its chat template. It is made once, so tests must not change it."""

    @cache
    def make(family: str) -> PreTrainedTokenizerFast:
        tokenizer = _MAKERS[family]()
        tokenizer.chat_template = (TEMPLATES / f"{family}.jinja").read_text(encoding="utf-8")
        tokenizer.name_or_path = family
        return tokenizer

    return make
