"""Faults of chat servers: `gymposium run`, and matches as a tournament plays them, against each.

Every fault must be reported in words and cost no match. No traceback, no forfeit of the player, no key in written
files, no hang, and no unbounded memory.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.robustness.faulty_chat_server import FAULTS, faulty_server
from benchmarks.robustness.row import Row, Wanted
from gymposium import load_game, make_player
from gymposium.match import MatchJob, play
from gymposium.match.guard import Guard
from gymposium.records import Record
from gymposium_agents.engines.secrets import remove_secret

KEY = "sk-canary/4f1d9c+77=="
VARIABLE = "GYMPOSIUM_CHAT_FAULTS_KEY"
SECONDS = 120
"""Time limit of a command."""
MEMORY = 600
"""MiB that a command may take, its libraries included: without a fault it takes some 200."""
SCHEDULES = ("rounds", "streaming")
ROUNDS = 7
"""Servers with each fault, each asked by a command and under each schedule."""


def rows(seed: int, wanted: Wanted) -> Iterator[Row]:
    """Yield a row for each fault."""
    os.environ[VARIABLE] = KEY
    for name, fault in FAULTS.items():
        if not wanted(name):
            continue
        failures: list[str] = []
        for number in range(ROUNDS):
            with faulty_server(fault) as url:  # a fault may count its requests
                player = f"api:tiny?base_url={url}&key={VARIABLE}&context=full&reply=move&timeout=2&retries=1"
                failures += _command(player, seed + number)
                for schedule in SCHEDULES:
                    failures += _guarded(player, schedule, seed + number)
        tries = ROUNDS * (1 + len(SCHEDULES))
        yield Row("chat-faults", name, tries, tuple(f"{name}: {what}" for what in failures))


def _command(player: str, seed: int) -> Iterator[str]:
    """Yield what is wrong with `gymposium run` against the server."""
    command = [sys.executable, "-m", "benchmarks.robustness.peak_memory", "run", "tic_tac_toe"]
    command += ["--players", f"{player},random", "-n", "2", "--seed", str(seed)]
    with tempfile.TemporaryDirectory() as folder:
        paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"PYTHONPATH": paths}
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            yield f"run: no end within {SECONDS} s"
            return
        said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
        said, _, peak = said.rpartition("peak memory: ")
        if not peak.strip().isdecimal() or int(peak) > MEMORY:
            yield f"run: took {peak.strip() or 'unknown'} MiB"
        if "Traceback" in said:
            yield f"run: a traceback, {said.strip().splitlines()[-1][:200]}"
        if done.returncode not in (0, 1, 2):
            yield f"run: exit status {done.returncode}"
        if done.returncode and not said.strip():
            yield "run: not a word"
        texts = [said, *(file.read_text(errors="replace") for file in Path(folder).rglob("*") if file.is_file())]
        if any(remove_secret(text, KEY) != text for text in texts):
            yield "run: the key is in what was written"
        if re.search(r'"ending": ?\{"kind": ?"[^"]*", ?"seat": ?\d', "".join(texts)):
            yield "run: a forfeit"


def _guarded(text: str, schedule: str, seed: int) -> Iterator[str]:
    """Yield what is wrong with matches that are played as a tournament plays them."""
    player, random = make_player(text), make_player("random")
    game = load_game("tic_tac_toe")
    jobs = [MatchJob(f"m{i}", game, [player, random] if i % 2 == 0 else [random, player], seed + i) for i in range(2)]
    for played in play(jobs, schedule=schedule, guard=Guard()):  # type: ignore[arg-type]
        line = Record.from_match(played).line()
        if played.ending.failures:
            yield f"{schedule}: booked on a player: {played.ending.describe()}"
        if not played.ending.broke_off and not played.utilities:
            yield f"{schedule}: no result, and nobody says why"
        if remove_secret(line, KEY) != line:
            yield f"{schedule}: the key is in a record"
