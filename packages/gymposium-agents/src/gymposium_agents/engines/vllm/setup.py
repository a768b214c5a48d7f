"""Makes the virtual environment that vLLM runs in: its torch and its transformers need not be ours."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from gymposium.errors import GymposiumError
from gymposium_agents.engines.vllm.home import EngineHome
from gymposium_agents.engines.vllm.versions import BUILDS, BuildName

Say = Callable[[str], object]

CHECK = "import vllm.entrypoints.openai.api_server, vllm.version; print('version', vllm.version.__version__)"
"""Imports what a server is made of, and says its version."""


def choose_build(build: Literal["auto", "cpu", "cuda"]) -> BuildName:
    """`cuda` where the machine has an NVIDIA GPU that its driver lists, else `cpu`."""
    if build != "auto":
        return build
    lister = shutil.which("nvidia-smi")
    if lister is None:
        return "cpu"
    listed = subprocess.run([lister, "--list-gpus"], capture_output=True, text=True, check=False)
    return "cuda" if listed.returncode == 0 and "GPU" in listed.stdout else "cpu"


def set_up(home: EngineHome, build: BuildName, *, say: Say) -> dict[str, Any]:
    """Make the environment, or leave it where it is there already; what is half-made, or made for other versions, is
    made anew. pip's own output goes to stderr. Returns what is noted in the marker.

    Raises `GymposiumError` where pip fails or what it installed cannot be imported."""
    with _alone(home):
        wanted = {"build": build, "requirements": list(BUILDS[build].requirements), "python": sys.version.split()[0]}
        there = home.installed()
        if there is not None and {key: there.get(key) for key in wanted} == wanted:
            say(f"vLLM {there['version']} ({build} build) is installed in {home.root}; nothing to do.")
            return there
        if there is not None or home.environment.exists():
            say(f"What is in {home.root} is {'half-made' if there is None else 'of other versions'}; it is made anew.")
        home.marker.unlink(missing_ok=True)
        if home.environment.is_symlink():
            raise GymposiumError(f"{home.environment} is a link; remove it, or name another place with --into.")
        shutil.rmtree(home.environment, ignore_errors=True)
        say(f"Installing {BUILDS[build].summary}, into {home.root}")
        _make(home, build, say)
        say("Checking that it can be imported")
        noted = {**wanted, "version": _check(home)}
        _write_last(home.marker, json.dumps(noted, indent=2) + "\n")
        say(f"vLLM {noted['version']} is ready. Start a server with:  gymposium engine start --model MODEL")
        return noted


@contextmanager
def _alone(home: EngineHome) -> Iterator[None]:
    """Only one setup at a time works in a home; a second one waits for the first."""
    home.root.mkdir(parents=True, exist_ok=True)
    with (home.root / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(home: EngineHome, build: BuildName, say: Say) -> None:
    _run([sys.executable, "-m", "venv", str(home.environment)], "The virtual environment could not be made")
    pip = [str(home.python), "-m", "pip"]
    _run([*pip, "install", *BUILDS[build].requirements], "pip could not install vLLM")
    if unwanted := BUILDS[build].unwanted:
        say(f"Removing {', '.join(unwanted)}, which break this build")
        _run([*pip, "uninstall", "--yes", *unwanted], "pip could not remove what breaks vLLM")


def _check(home: EngineHome) -> str:
    found = subprocess.run(
        [str(home.python), "-c", CHECK], capture_output=True, text=True, env=clean_environment(os.environ), check=False
    )
    versions = [line.split()[1] for line in found.stdout.splitlines() if line.startswith("version ")]
    if found.returncode or not versions:
        last = "\n".join(found.stderr.strip().splitlines()[-5:])
        raise GymposiumError(f"vLLM was installed in {home.root}, but it cannot be imported:\n{last}")
    return versions[0]


def _run(command: Sequence[str], failed: str) -> None:
    """Run with the output where the user sees it: on stderr, as all progress."""
    done = subprocess.run(command, stdout=sys.stderr, env=clean_environment(os.environ), check=False)
    if done.returncode:
        raise GymposiumError(
            f"{failed}: {' '.join(command)} ended with code {done.returncode}; its own words are above. "
            f"Run gymposium engine setup again when that is put right; it begins anew."
        )


OURS = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_CONSTRAINT", "PIP_REQUIREMENT"}
"""Variables that carry our own packages, or the pins that hold for them."""

TORCHRUN = (
    "TORCHELASTIC_ TORCH_NCCL_ RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK "
    "ROLE_WORLD_SIZE ROLE_NAME MASTER_ADDR MASTER_PORT"
).split()
"""Prefixes of the variables that torchrun sets for the processes that it starts. A vLLM server has process groups of
its own: with `TORCHELASTIC_USE_AGENT_STORE` torch opens no store for a group that meets over TCP, and waits for one."""


def clean_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables for a process of the engine's environment: those of our own packages and of torchrun are left
    out."""
    return {
        name: value for name, value in variables.items() if name not in OURS and not name.startswith(tuple(TORCHRUN))
    }


def _write_last(path: Path, text: str) -> None:
    """Write so that the file is either not there or whole."""
    half = path.with_suffix(".half")
    half.write_text(text, encoding="utf-8")
    half.replace(path)
