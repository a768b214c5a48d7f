"""Checks of a model's files before transformers opens them: the files must be regular and of bounded size, and contain
no keys that make transformers load code or other files. This module does not import torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.util.plain_file import MOST_BYTES, read_plain_text

MOST_SETTINGS_BYTES = 4 * 2**20
"""Maximum size of a file of settings or templates. Vocabularies and lists of weights may have `MOST_BYTES`."""

MOST_GROWTH = 1_000
"""Maximum growth factor of a text through a tokenizer's replacements."""

_CONFIG, _TOKENIZER, _ADAPTER = "config.json", "tokenizer_config.json", "adapter_config.json"
_VOCABULARY = "tokenizer.json"
_SETTINGS = (_CONFIG, _ADAPTER, "generation_config.json", "player.json", "chat_template.json", "processor_config.json")
_TEXTS = (".json", ".model", ".tiktoken", ".txt")
_TEMPLATE = ".jinja"
_CHOICE = "_implementation"
_BUILT_IN = (None, "eager", "sdpa", "flex_attention", "paged|eager", "grouped_mm", "batched_mm")
"""Implementations of attention and experts that need no other package. transformers imports other implementations, and
downloads them from the hub if they are not installed."""
_REDIRECTS = ("configuration_files", "attribute_map", "sub_configs", "sub_configs_defaults")
"""Config keys that make transformers read another file, or treat a key like another key."""


class UnsafeModelError(GymposiumError):
    """Error for model files that are not safe to open."""


def check_model_files(name: str | Path, *, remote_code: bool, local_files_only: bool) -> None:
    """Check a model's small files before a library opens them. `remote_code` allows implementations that are downloaded
    and imported.

    Raises `UnsafeModelError`, and `OSError` or `ValueError` for a model that cannot be found."""
    directory = Path(name) if Path(name).is_dir() else _find_cached_copy(str(name), local_files_only)
    check_plain_files(directory)
    if (directory / _ADAPTER).exists():
        raise UnsafeModelError(
            f"The model {str(name)!r} contains an adapter ({_ADAPTER}) that names a base model. Write "
            f"lm:MODEL@ADAPTER with that model and this adapter."
        )
    for key, value in _list_entries(directory / _CONFIG):
        if key in _REDIRECTS:
            raise UnsafeModelError(
                f"The {_CONFIG} of the model {str(name)!r} has the key {key!r}, which redirects transformers to other "
                f"settings. Remove the key."
            )
        if (
            key.removesuffix("_internal").endswith(_CHOICE)
            and not remote_code
            and (code := _find_code(value)) is not None
        ):
            raise UnsafeModelError(
                f"The {_CONFIG} of the model {str(name)!r} names code to load: {key} is {code[:80]!r}. Remove the key "
                f"or, if you trust that code, set trust_remote_code=true."
            )
    for key, value in _list_entries(directory / _TOKENIZER):
        if key == "tokenizer_class" and not _is_tokenizer(value):
            raise UnsafeModelError(
                f"The {_TOKENIZER} of the model {str(name)!r} names an invalid tokenizer: tokenizer_class is "
                f"{str(value)[:80]!r}. Save the tokenizer again."
            )
    _check_growth(directory / _VOCABULARY)


def _check_growth(file: Path) -> None:
    """Raise `UnsafeModelError` if a tokenizer's replacements can together turn a short text into gigabytes."""
    if not file.exists():
        return
    if _may_grow(file, file.stat().st_mtime_ns, file.stat().st_size):
        raise UnsafeModelError(
            f"{file} replaces text by texts that are more than {MOST_GROWTH:,} times longer. Shorten its "
            f"replacements, or use another model."
        )


@lru_cache(maxsize=8)
def _may_grow(file: Path, changed: int, size: int) -> bool:
    """Return True if the replacements in a file may lengthen a text by more than `MOST_GROWTH`. `changed` and `size`
    are the file's, and make a changed file miss the cache."""
    try:
        values = json.loads(read_plain_text(file))
    except (ValueError, RecursionError):  # damage is left to its loader
        return False
    for part in ("normalizer", "pre_tokenizer", "decoder") if isinstance(values, Mapping) else ():
        growth = 1
        for length in _list_lengths(values.get(part)):
            growth *= length
            if growth > MOST_GROWTH:
                return True
    return False


def _list_lengths(part: Any) -> Iterator[int]:
    """Yield the lengths of the texts that a part of a tokenizer inserts."""
    parts = [part]
    while parts:
        match parts.pop():
            case {"type": "Replace", "content": str(text)} | {"type": "Prepend", "prepend": str(text)}:
                yield max(1, len(text))
            case Mapping() as value:
                parts += value.values()
            case list() as values:
                parts += values


def check_plain_files(directory: Path) -> None:
    """Raise `UnsafeModelError` if a file of a model or an adapter is not a regular file, or too large for its kind."""
    for file in sorted([*directory.iterdir(), *directory.glob("*/*.jinja")]):
        if file.is_dir() or not file.exists():
            continue
        if file.suffix == _TEMPLATE or file.name in _SETTINGS:
            most: float = MOST_SETTINGS_BYTES
        else:
            most = MOST_BYTES if file.suffix in _TEXTS else float("inf")
        if not file.is_file():
            raise UnsafeModelError(f"{file} is not a regular file. Download or save the model again.")
        if (size := file.stat().st_size) > most:
            raise UnsafeModelError(
                f"{file} has {size:,} bytes, but at most {most:,} are allowed. Download or save the model again."
            )


def _find_cached_copy(name: str, local_files_only: bool) -> Path:
    """Return the folder with the cached copy of a hub model, after downloading its config."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    for file in (_ADAPTER, _TOKENIZER, _VOCABULARY):
        try:
            hf_hub_download(name, file, local_files_only=local_files_only)
        except EntryNotFoundError:
            continue
    return Path(hf_hub_download(name, _CONFIG, local_files_only=local_files_only)).parent


def _list_entries(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of a file at any depth, read as transformers does. Damaged files yield nothing, because
    their loader reports them."""
    if not file.exists():
        return
    try:
        values = [json.loads(read_plain_text(file))]
    except (ValueError, RecursionError):
        return
    while values:
        value = values.pop()
        if isinstance(value, Mapping):
            yield from value.items()
            values += value.values()
        elif isinstance(value, list):
            values += value


def _find_code(value: Any) -> str | None:
    """Return the first implementation in a value that is not built in."""
    choices = [value]
    while choices:
        choice = choices.pop()
        if isinstance(choice, Mapping):
            choices += choice.values()
        elif isinstance(choice, list) or choice not in _BUILT_IN:
            return str(choice)
    return None


def _is_tokenizer(value: Any) -> bool:
    ends = ("Tokenizer", "TokenizerFast", "Backend")
    return value is None or (isinstance(value, str) and value.endswith(ends))
