"""A program may end while its engine computes in a daemon thread."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.models.small import make_small_model

PROGRAM = """
import random, sys, threading
from gymposium_agents.models.loading import load_model
from gymposium_agents.chat.tokens import Sampling, TokenRequest

begun = threading.Event()

class Drawing(random.Random):
    def random(self):
        begun.set()
        return super().random()

loaded = load_model(sys.argv[1])
engine = loaded.engine()
engine.stops = frozenset()  # replies go on for as long as there is room
prompt = loaded.chat.prompt("x")
requests = [TokenRequest(prompt, Drawing(seed)) for seed in range(16)]
most = Sampling(1.0, engine.context - len(prompt))
answering = threading.Thread(target=engine.generate, args=(requests, most), daemon=True)
answering.start()
begun.wait()
assert answering.is_alive()
"""


@pytest.mark.slow
def test_program_exits_cleanly_while_engine_runs(tmp_path: Path, tiny_size: SmallModel) -> None:
    make_small_model(tmp_path, ["x o"], seed=1, size=replace(tiny_size, hidden=128, context=8192))
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
