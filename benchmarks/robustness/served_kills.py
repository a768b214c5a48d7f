"""`gymposium serve`, killed at any moment and resumed, while a client continues with the real openai library.

The client plays its sessions one after the other, so an uninterrupted run is the same each time. SIGKILL ends the
server in a request, in a training step, or just after new weights are published. The client repeats unanswered
requests. In the end the weights must equal those of an uninterrupted run, to the bit. Then no ended session was lost or
learned twice, and each answer was repeated.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from openai import OpenAI

from benchmarks.robustness.row import Row, Wanted
from benchmarks.serving.running import ENVIRONMENT, free_port
from gymposium.errors import BadRecord
from gymposium.http.client import Server
from gymposium.runs.sessions import SessionsFile

STEPS, GROUPS, SIZE, TURNS = 3, 2, 3, 3
"""Steps of training, groups of a step, sessions of a group, and requests of a session."""
_LIMIT = 90.0
_WHAT = "`serve`, in a request, in a step, after a publish"


@dataclass
class RestartingServer:
    """A server that is started again whenever it has ended before its run has."""

    model: Path
    folder: Path
    port: int
    log: list[str] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Begin or resume the run."""
        settings = ("checkpoints.every=1", "optimizer.learning_rate=1e-2", "rollout.group_size=3", "samples.every=0")
        begin = ("serve", "--model", str(self.model), "--steps", str(STEPS), "--port", str(self.port), *settings)
        resume = ("serve", "--resume", str(self.folder))
        again = (self.folder / "config.json").exists()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gymposium.cli.main", *(resume if again else (*begin, "--out", str(self.folder)))],
            env={**os.environ, **ENVIRONMENT},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self.process

    def kill(self) -> None:
        """End the server at once."""
        assert self.process is not None, "it was started"
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait(self) -> int:
        """Wait for the end of the run."""
        assert self.process is not None, "it was started"
        return self.process.wait(_LIMIT)


def play(port: int) -> None:
    """Play all sessions, and ask for each step."""
    with Server(f"http://127.0.0.1:{port}") as server:
        for step in range(STEPS):
            keys = [f"step-{step}-group-{number}" for number in range(GROUPS)]
            for key in keys:
                for member in range(SIZE):
                    session = server.session(key, member)
                    model = OpenAI(base_url=session.base_url, api_key="none", max_retries=1000)
                    messages: list[dict[str, str]] = []
                    said = ""
                    for turn in range(TURNS):
                        messages.append({"role": "user", "content": f"{key} {turn}"})
                        answer = model.chat.completions.create(model="m", messages=messages)  # type: ignore[arg-type]
                        said = answer.choices[0].message.content or ""
                        messages.append({"role": "assistant", "content": said})
                    session.end(float(len(said) + member))
            server.train(keys)


def moment(folder: Path, rng: random.Random, phase: str) -> tuple[Callable[[SessionsFile], bool], float]:
    """Return when to kill: a condition on the file of sessions, and a delay in seconds after it."""
    step = rng.randrange(STEPS)
    if phase == "request":
        turns = rng.randrange(1, STEPS * GROUPS * SIZE * TURNS)
        return (lambda file: sum(len(file.turns(row.id)) for row in file.sessions()) >= turns), rng.random() * 0.02
    state = "learning" if phase == "step" else "done"
    spread = 0.3 if phase == "step" else 0.003
    return (lambda file: (job := file.find_job(step)) is not None and job.state == state), rng.random() * spread


def killed(model: Path, folder: Path, rng: random.Random, phase: str) -> str:
    """Play a run whose server is killed once. Returns what went wrong, else nothing."""
    served = RestartingServer(model, folder, free_port())
    served.start()
    reached, delay = moment(folder, rng, phase)
    client = threading.Thread(target=play, args=[served.port], daemon=True)
    client.start()
    began = time.monotonic()
    while served.process is not None and served.process.poll() is None and time.monotonic() - began < _LIMIT:
        try:
            file = SessionsFile(folder / "sessions.sqlite", read_only=True)
        except BadRecord:  # it is not there yet
            time.sleep(0.05)
            continue
        met = reached(file)
        file.close()
        if met:
            break
        time.sleep(0.001)
    time.sleep(delay)
    served.kill()
    served.start()
    client.join(_LIMIT)
    if client.is_alive():
        served.kill()
        return f"{phase}: the client hangs"
    served.wait()
    file = SessionsFile(folder / "sessions.sqlite", read_only=True)
    counts = file.counts()
    file.close()
    expected = STEPS * GROUPS * SIZE
    if counts["sessions"].get("ended") != expected or counts["jobs"] != {"done": STEPS}:
        return f"{phase}: {counts}"
    return ""


def digest(folder: Path) -> str:
    """Return the digest of the weights that a run ended with."""
    return hashlib.sha256((folder / "model" / "model.safetensors").read_bytes()).hexdigest()


def make_tiny_model(folder: Path, texts: Sequence[str]) -> None:
    """Write a model of one layer that knows the words of these texts, which replies in 8 tokens at most."""
    from gymposium_agents.chat.settings import PlayerSettings
    from gymposium_agents.chat.small_size import SmallModel
    from gymposium_agents.models.small import make_small_model

    size = SmallModel(hidden=32, layers=1, heads=2)
    make_small_model(folder, texts, seed=1, size=size, moves=["a1", "b2", "pass"])
    PlayerSettings(max_tokens=8).save(folder)


def rows(seed: int, wanted: Wanted, tries: int = 20) -> Iterator[Row]:
    """Yield the row of twenty runs, each killed once."""
    if not wanted(_WHAT):
        return
    rng, failures = random.Random(seed), []
    with TemporaryDirectory() as home:
        model = Path(home, "tiny")
        make_tiny_model(model, [f"step-{n} group-{n} {n}" for n in range(9)])
        served = RestartingServer(model, Path(home, "whole"), free_port())
        served.start()
        play(served.port)
        served.wait()
        whole = digest(served.folder)
        for number in range(tries):
            phase = ("request", "step", "published")[number % 3]
            folder = Path(home, f"try-{number}")
            said = killed(model, folder, rng, phase)
            if not said and digest(folder) != whole:
                said = f"{phase}: other weights"
            if said:
                failures.append(f"try {number}: {said}")
            print(number, phase, said or "equal", file=sys.stderr, flush=True)
    yield Row("kills", _WHAT, tries, tuple(failures))
