"""Trainer kit tests plant the defects of `benchmarks.trainers`. Torch uses one thread."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[3]))  # for the benchmarks


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
