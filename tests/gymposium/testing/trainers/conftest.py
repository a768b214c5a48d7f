"""The tests of the kit for trainers need torch, which the trainer that is checked uses."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
