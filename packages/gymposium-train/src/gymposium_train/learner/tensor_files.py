"""Files of named tensors: safetensors of bounded size, written and read one tensor at a time. Nothing is pickled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gymposium.errors import GymposiumError, describe_error
from gymposium.util.plain_file import check_plain

PART = 2**28
"""Maximum size of a tensor file, and of the tensors in memory in addition to the learner, in bytes. A single tensor may
be larger."""


def write_tensors(tensors: Iterable[tuple[str, Tensor]], directory: Path) -> None:
    """Write tensors to files in `directory`. Each file has at most `PART` bytes or a single tensor. Without tensors,
    writes nothing."""
    files = 0
    part: dict[str, Tensor] = {}
    for name, tensor in tensors:
        if part and tensor.nbytes + sum(one.nbytes for one in part.values()) > PART:
            save_file(part, directory / _make_file_name(files))
            files += 1
            part = {}
        part[name] = tensor
    if part:
        save_file(part, directory / _make_file_name(files))


@contextmanager
def read_tensors(directory: Path) -> Iterator[Mapping[str, Tensor]]:
    """Yield the tensors in a directory by name. A tensor is read when it is accessed.

    Raises `GymposiumError` if they cannot be read, or if the block finds a tensor missing or invalid."""
    files = sorted(directory.glob("learner-*.safetensors")) or [directory / _make_file_name(0)]
    try:
        for file in files:
            check_plain(file)
        with ExitStack() as opened:
            yield _TensorReader([opened.enter_context(safe_open(file, framework="pt")) for file in files])
    except (LookupError, OSError, SafetensorError, ValueError) as error:
        raise GymposiumError(
            f"Cannot read the weights in {directory} ({describe_error(error)}). Remove {directory}."
        ) from error


@torch.no_grad()
def copy_weights(directory: Path, model: torch.nn.Module) -> None:
    """Copy the trained weights of a learner's state into a model of the same shape."""
    named = dict(model.named_parameters())
    with read_tensors(directory) as tensors:
        for key in tensors:
            kind, _, name = key.partition("|")
            if kind == "weights" and name in named:  # a critic is not part of the model
                named[name].copy_(tensors[key])


class _TensorReader(Mapping[str, Tensor]):
    """The tensors of some files by name. A tensor is read when it is accessed."""

    def __init__(self, files: Iterable[Any]) -> None:
        self._files = {name: file for file in files for name in file.keys()}  # noqa: SIM118 (it is no mapping)

    def __getitem__(self, name: str) -> Tensor:
        tensor: Tensor = self._files[name].get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _make_file_name(number: int) -> str:
    return f"learner-{number + 1:05d}.safetensors"
