"""Damaged and hostile files of every kind that gymposium reads, each given to the command that reads it.

A command fails if it ends by a signal or with an unknown exit status, prints a traceback, or refuses without a reason.
It also fails if it exceeds `SECONDS` of CPU time or `MEMORY` bytes, hangs, or leaves processes. The last failure is to
create the file `canary`, as the hostile contents try to.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.util import _run_finalizers  # type: ignore[attr-defined]
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.robustness.damage import ANY, IN_PLACE, Way, json_line, json_value, toml_value, zip_member
from benchmarks.robustness.row import Row, Wanted
from benchmarks.robustness.tampering import make_board
from gymposium.cli.main import main
from gymposium.plugins.host import host

TRIES = 24
SECONDS, MEMORY = 60, 2_500_000_000
"""CPU seconds and resident bytes of one command and its children, torch included."""
_WALL = 300.0
_RC = {0, 1, 2, 3}

JSON, LINES, TOML, ZIP = (json_value,) * 6, (json_line,) * 8, (toml_value,) * 8, (zip_member,) * 6


@dataclass(frozen=True)
class Kind:
    """A kind of file: where it lies in the folder of specimens, and the command that reads it."""

    what: str
    file: str
    command: str
    ways: Sequence[Way] = ()
    """Ways to damage its format, besides those for every file. Each stands for one try."""
    beside: Sequence[str] = ()
    """What the command reads besides the file, or the folder that holds it."""


LM = "run kuhn_poker --players lm:{},random -n 2 --out out"
KINDS = (
    Kind("a record, verified", "run/matches.jsonl", "verify run/matches.jsonl", LINES),
    Kind("a record, replayed", "run/matches.jsonl", "replay run/matches.jsonl", LINES),
    Kind("a record, reviewed", "run/matches.jsonl", "review run/matches.jsonl", LINES),
    Kind("a record, exported", "run/matches.jsonl", "view run/matches.jsonl --export out", LINES),
    Kind("the manifest of a run", "run/matches.manifest.json", "verify run", JSON),
    Kind("the settings of a run", "run/settings.json", "run --resume run", JSON),
    Kind("a suite", "suite.toml", "leaderboard run suite.toml --out out -j 1", TOML),
    Kind("a board's suite", "board/suite.toml", "leaderboard rate board", TOML),
    Kind("an entry", "board/entries/mcts-2/entry.json", "leaderboard verify board -j 1 --sample 0", JSON),
    Kind("an entry, published", "board/entries/mcts-2/entry.json", "leaderboard build board --out out", JSON),
    Kind(
        "a board's matches",
        "board/entries/greedy/matches/tic_tac_toe/random--greedy.jsonl",
        "leaderboard verify board -j 1 --sample 0",
        LINES,
    ),
    Kind("exact figures", "board/entries/random/exact.json", "leaderboard rate board", JSON),
    Kind("results, published", "board/results.json", "leaderboard build board --out out", JSON),
    Kind("earlier results", "old.json", "leaderboard build board --out out --earlier old.json", JSON, ["board"]),
    Kind("a config of training", "config.toml", "train config.toml --dry-run", TOML),
    Kind("the config of a run of training", "train/config.json", "train --resume train", JSON),
    Kind("the state of a checkpoint", "train/checkpoints/{step}/state.json", "train --resume train", JSON),
    Kind("the weights of a checkpoint", "train/checkpoints/{step}/learner-00001.safetensors", "train --resume train"),
    Kind("metrics", "train/metrics.jsonl", "view train --export out", LINES),
    Kind("samples", "train/samples.jsonl", "view train --export out", LINES),
    Kind("results of training", "train/results.json", "view train --export out", JSON),
    Kind("a TextArena log", "logs/textarena.jsonl", "audit logs/textarena.jsonl --out out", LINES),
    Kind("a Kaggle log", "logs/kaggle.jsonl", "audit logs/kaggle.jsonl --out out", LINES),
    Kind("an OpenSpiel log", "logs/openspiel.jsonl", "audit logs/openspiel.jsonl --out out", LINES),
    Kind("an Inspect log", "logs/inspect.eval", "audit logs/inspect.eval --out out"),
    Kind("player.json", "train/model/player.json", LM.format("train/model"), JSON),
    Kind("config.json of a model", "train/model/config.json", LM.format("train/model"), JSON),
    Kind("weights of a model", "train/model/model.safetensors", LM.format("train/model")),
    Kind("tokenizer.json", "train/model/tokenizer.json", LM.format("train/model"), JSON),
    Kind("tokenizer_config.json", "train/model/tokenizer_config.json", LM.format("train/model"), JSON),
    Kind("a chat template", "train/model/chat_template.jinja", LM.format("train/model")),
    Kind("adapter_config.json", "adapter/adapter_config.json", LM.format("adapter"), JSON, ["train"]),
    Kind("weights of an adapter", "adapter/adapter_model.safetensors", LM.format("adapter"), beside=["train"]),
    Kind(
        "a policy of stable-baselines3", "ppo.zip", "run tic_tac_toe --players sb3:ppo.zip,random -n 2 --out out", ZIP
    ),
    Kind(
        "an adversary",
        "adversary/adversary.json",
        "run kuhn_poker --players exploit:adversary/adversary.json,random -n 2 --out out",
        JSON,
    ),
    Kind("questions", "questions.jsonl", "run qa file=questions.jsonl --players random -n 2 --out out", LINES),
    Kind(
        "mails",
        "mails.jsonl",
        "run mail inbox=mails.jsonl questions=asked.jsonl --players random -n 2 --out out",
        LINES,
        ["asked.jsonl"],
    ),
    Kind("programs to trace", "programs.jsonl", "trace check programs.jsonl", LINES),
    Kind(
        "a world of an MCP server",
        "world.toml",
        "run mcp file=world.toml --players random -n 1 --out out",
        TOML,
        ["train.jsonl"],
    ),
    Kind("a plugin of one file", "one.py", "--plugin one.py list"),
)

SUITE = 'name = "s"\nseed = 1\ngroups = 1\nplayers = ["random", "greedy"]\n[[games]]\nname = "tic_tac_toe"\n'
CONFIG = """
games = ["kuhn_poker"]
steps = 2
seed = 3
reward = "return"
[rollout]
group_size = 4
[evaluation]
opponents = ["random"]
matches = 20
[optimizer]
learning_rate = 1e-3
"""
PLUGIN = """
from gymposium import OpponentSpec, hookimpl


@hookimpl
def gymposium_opponents():
    return []
"""
ROWS = {
    "questions.jsonl": '{"question": "What is 1 + 1?", "answer": 2}\n{"question": "Which?", "answer": "b", '
    '"choices": ["a", "b"]}\n',
    "mails.jsonl": '{"message_id": "m1", "date": "2024-06-12T09:30:00", "from": "a@x.example", "to": "b@x.example", '
    '"subject": "Tea", "body": "At four."}\n',
    "asked.jsonl": '{"question": "When is tea?", "answer": "four", "message_ids": ["m1"]}\n',
    "programs.jsonl": '{"program": "n = int(input())\\nprint(n * 2)\\n", "inputs": "21\\n"}\n',
    "train.jsonl": '{"question": "Two and two?", "answer": 4}\n',
    "world.toml": '[server]\ncommand = ["python3", "no_server.py"]\n[tools]\nallow = ["echo"]\nmax_calls = 4\n'
    '[questions]\ntrain = "train.jsonl"\n',
    "suite.toml": SUITE,
    "config.toml": CONFIG,
    "one.py": PLUGIN,
}


def specimens(home: Path) -> None:
    """Write a sound file of each kind into a folder."""
    for name, text in ROWS.items():
        (home / name).write_text(text, encoding="utf-8")
    shutil.copytree(Path(__file__).parents[2] / "tests/arena/audit/logs", home / "logs")
    make_board(home / "board", seed=1)
    shutil.copy(home / "board/results.json", home / "old.json")
    few = "evaluation.matches=20 evaluation.search_matches=2 evaluation.curve_matches=2 cold_start.matches=10"
    for command in (
        "run kuhn_poker --players random,mcts-2 -n 6 --out run",
        "exploit random --game kuhn_poker --out adversary",
        f"train --game kuhn_poker --steps 2 --out train samples.every=1 {few}",
    ):
        found = tried(command, home)
        if found.rc not in (0, 3):
            raise RuntimeError(f"gymposium {command}\n{found.said}")
    _adapter(home / "train/model", home / "adapter")
    _policy(home / "ppo.zip")


def _adapter(model: Path, folder: Path) -> None:
    from gymposium_agents.lora.attach import attach_lora
    from gymposium_agents.lora.saving import save_lora
    from gymposium_agents.models.loading import load_model

    save_lora(attach_lora(load_model(model).model, rank=2, alpha=4, seed=1), folder)


def _policy(file: Path) -> None:
    import gymnasium
    from stable_baselines3 import PPO

    import gymposium  # noqa: F401 (it registers the environment)

    env = gymnasium.make("TextTicTacToe-v0", observation="tensor")
    PPO("MlpPolicy", env, n_steps=16, batch_size=16, device="cpu").save(file)


@dataclass(frozen=True)
class CommandOutcome:
    """How a command ended."""

    rc: int
    said: str
    seconds: float
    memory: int
    late: bool
    """Whether it had to be ended."""
    left: bool
    """Whether it left processes."""


def tried(command: str, folder: Path) -> CommandOutcome:
    """Run a command in a folder, in a fork of this process, with everything imported."""
    log = folder / "said.log"
    child = os.fork()
    if not child:
        _run(command.split(), folder, log)
    began = time.monotonic()
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        late = time.monotonic() - began > _WALL
        if ended or late:
            break
        time.sleep(0.02)
    if late and not ended:
        os.killpg(child, signal.SIGKILL)
        _, status, used = os.wait4(child, 0)
    left = _left(child)
    said = log.read_text(encoding="utf-8", errors="replace")
    seconds = used.ru_utime + used.ru_stime
    return CommandOutcome(os.waitstatus_to_exitcode(status), said, seconds, used.ru_maxrss * 1024, late, left)


def _left(group: int) -> bool:
    """Return whether processes of a group are there some seconds after its first has ended. They are ended."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    return True


def _run(words: list[str], folder: Path, log: Path) -> None:
    """Be the command, and end as a process of `multiprocessing` does. Does not return."""
    rc = 70
    try:
        os.setsid()
        os.chdir(folder)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for here, there in ((nothing, 0), (out, 1), (out, 2)):
            os.dup2(here, there)
        resource.setrlimit(resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS))
        sys.argv = ["gymposium", *words]
        sys.modules["__main__"] = sys.modules[main.__module__]  # which workers import
        try:
            main()
            rc = 0
        except SystemExit as end:
            rc = end.code if isinstance(end.code, int) else 1 if end.code else 0
        except BaseException:  # noqa: BLE001 (what no command catches is what is looked for)
            traceback.print_exc()
        threading._shutdown()  # type: ignore[attr-defined]
        _run_finalizers()
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        os._exit(rc)


def fault(found: CommandOutcome, folder: Path) -> str:
    """Return what is wrong with the end of a command; empty if nothing is."""
    if found.late:
        return f"did not end in {_WALL:.0f} s"
    if found.rc not in _RC:
        return f"exit status {found.rc}: {found.said.strip()[-200:]}"
    if "Traceback" in found.said or "Exception ignored" in found.said:
        return f"a traceback: {found.said.strip()[-200:]}"
    if found.rc and not found.said.strip():
        return f"exit status {found.rc} without a word"
    if found.seconds > SECONDS:
        return f"{found.seconds:.0f} s of CPU time"
    if found.memory > MEMORY:
        return f"{found.memory:,} bytes"
    if found.left:
        return "left processes"
    return "the canary was touched" if (folder / "canary").exists() else ""


def one_try(kind: Kind, home: Path, number: int, seed: int) -> str:
    """Damage a copy of the specimen, give it to its command, and say what went wrong, if anything did."""
    rng = random.Random(f"{seed}/{kind.what}/{number}")
    step = max(path.name for path in (home / "train/checkpoints").iterdir())
    name = kind.file.replace("{step}", step)
    with TemporaryDirectory(prefix="hostile-") as place:
        folder = Path(place)
        for part in (kind.file.split("/", maxsplit=1)[0], *kind.beside):
            source = home / part
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / part)
        file = folder / name
        ways: Sequence[Way] = (*kind.ways, *ANY)
        way = number % (len(ways) + len(IN_PLACE))
        sound = file.read_bytes()
        if way < len(ways):
            file.write_bytes(ways[way](sound, rng))
            how = ways[way].__name__
        else:
            file.unlink()
            IN_PLACE[way - len(ways)](file)
            how = f"in place {way - len(ways)}"
        said = fault(tried(kind.command, folder), folder)
        return f"{kind.what}, try {number} ({how}): {said}" if said else ""


def rows(seed: int, wanted: Wanted) -> Iterator[Row]:
    """Yield all kinds of files."""
    os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "COLUMNS": "200"}
    torch.set_num_threads(1)
    host()
    with TemporaryDirectory() as place:
        home = Path(place)
        maker = get_context("fork").Process(target=specimens, args=(home,))  # a fork of threads would not go on
        maker.start()
        maker.join()
        if maker.exitcode:
            raise RuntimeError("The sound files could not be made.")
        for kind in KINDS:
            if not wanted(kind.what):
                continue
            tries = max(TRIES, len(kind.ways) + len(ANY) + len(IN_PLACE))
            found = [one_try(kind, home, number, seed) for number in range(tries)]
            yield Row("files", kind.what, tries, tuple(filter(None, found)))
