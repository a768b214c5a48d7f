"""Commands that start a server play through it and end it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from gymposium.records import Record, read_records, verify_file
from gymposium_agents.chat.tokens import Policy

COMMAND = (str(Path(sys.executable).with_name("gymposium")),)
"""The command as it is installed. With `python -m`, CPython ends by the signal itself, not with 130, if Ctrl-C comes
while a string is executed, as each dataclass does where it is imported."""
SERVER = ("--start-server", "--server-option", "kv_cache_gib=1", "--server-option", "max_num_seqs=16")


def open_handles(groups: set[int]) -> list[int]:
    """A handle to each process of these process groups, to wait for processes that are not children."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended already
            group = int(stat.read_text().rpartition(")")[2].split()[2])
            if group in groups:
                found.append(os.pidfd_open(int(stat.parent.name)))
    return found


def test_two_versions_play_through_one_server(
    model_directory: Path, adapters: dict[Policy, Path], tmp_path: Path
) -> None:
    older, newer = (f"lm:{model_directory}@{adapters[Policy('learner', version)]}" for version in (1, 2))
    done = subprocess.run(
        [
            *(*COMMAND, "eval", f"{newer}?temperature=1", "--opponents", f"{older},random", "-n", "10", "--json"),
            *("--game", "tic_tac_toe", "--game", "kuhn_poker", "--schedule", "streaming", *SERVER),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Starting a vLLM server") == 1
    data = json.loads(done.stdout)
    for game in data["games"]:
        assert set(game["opponents"]) == {older, "random"}
        assert all(found["matches"] == 10 for found in game["opponents"].values())
        assert all(found["usage"]["completion_tokens"] > 0 for found in game["opponents"].values())
    found = [record for _, record in read_records(tmp_path / data["record"])]
    names = {name for record in found if isinstance(record, Record) for name in record.players}
    assert names == {f"{newer}?temperature=1", older, "random"}  # as given, without a port
    assert verify_file(tmp_path / data["record"]).problems == []


def test_ctrl_c_also_stops_the_server(model_directory: Path, tmp_path: Path) -> None:
    player = f"lm:{model_directory}?temperature=1&max_tokens=200"
    with subprocess.Popen(
        [*COMMAND, "eval", player, "--opponents", "random", "--game", "tic_tac_toe", "-n", "100000", *SERVER],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "It is ready at" in line:
                break
        # each thread has its own children
        threads = Path(f"/proc/{process.pid}/task").glob("*/children")
        handles = open_handles({int(child) for children in threads for child in children.read_text().split()})
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    assert "Traceback" not in rest
    assert "Stopped." in rest
    assert len(handles) >= 3  # the keeper, the server, its engine
    for handle in handles:
        assert select.select([handle], [], [], 60)[0], "a process of the server is still there"
        os.close(handle)
