"""Setup of vLLM's virtual environment, whose versions of torch and transformers may differ from gymposium's."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from gymposium.errors import GymposiumError
from gymposium.util.child_process import PLUGIN_FILES, make_python_command, make_python_environment
from gymposium.util.durable import replace_text
from gymposium_agents.engines.vllm.home import EngineHome
from gymposium_agents.engines.vllm.versions import BUILDS, BuildName

Say = Callable[[str], object]

CHECK = "import vllm.entrypoints.openai.api_server, vllm.version; print('version', vllm.version.__version__)"
"""Program that imports a server's modules and prints vLLM's version."""


def choose_build(build: Literal["auto", "cpu", "cuda"]) -> BuildName:
    """Resolve `auto`: `cuda` if the machine's driver lists an NVIDIA GPU, else `cpu`."""
    if build != "auto":
        return build
    nvidia_smi = shutil.which("nvidia-smi")
    if nvidia_smi is None:
        return "cpu"
    gpus = subprocess.run([nvidia_smi, "--list-gpus"], capture_output=True, text=True, check=False)
    return "cuda" if gpus.returncode == 0 and "GPU" in gpus.stdout else "cpu"


def set_up(home: EngineHome, build: BuildName, *, say: Say) -> dict[str, Any]:
    """Install vLLM, unless this build is already installed. An incomplete installation, or one with other versions, is
    replaced. pip's output goes to stderr. Returns the contents of the marker.

    Raises `GymposiumError` if pip fails or the installed vLLM cannot be imported."""
    home.root.mkdir(parents=True, exist_ok=True)
    with (home.root / "setup.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second setup waits for the first, and no byte is written
        wanted = {"build": build, "requirements": list(BUILDS[build].requirements), "python": sys.version.split()[0]}
        installed = home.installed()
        if installed is not None and {key: installed.get(key) for key in wanted} == wanted:
            say(f"vLLM {installed['version']} ({build} build) is installed in {home.root}. Nothing to do.")
            return installed
        if installed is not None or home.environment.exists():
            state = "is incomplete" if installed is None else "has other versions"
            say(f"The installation in {home.root} {state}. Replacing it.")
        home.marker.unlink(missing_ok=True)
        if home.environment.is_symlink():
            raise GymposiumError(f"{home.environment} is a link. Remove it, or choose another directory with --into.")
        shutil.rmtree(home.environment, ignore_errors=True)
        say(f"Installing {BUILDS[build].summary}, into {home.root}")
        _install(home, build, say)
        say("Checking that it can be imported")
        installed = {**wanted, "version": _read_version(home)}
        replace_text(home.marker, json.dumps(installed, indent=2) + "\n")
        say(f"vLLM {installed['version']} is ready. Start a server with:  gymposium engine start --model MODEL")
        return installed


def _install(home: EngineHome, build: BuildName, say: Say) -> None:
    _run(make_python_command("-m", "venv", str(home.environment)), "Cannot create the virtual environment")
    pip = make_python_command("-m", "pip", python=home.python)
    _run([*pip, "install", *BUILDS[build].requirements], "pip could not install vLLM")
    if unwanted := BUILDS[build].unwanted:
        say(f"Removing {', '.join(unwanted)}, which break this build")
        _run([*pip, "uninstall", "--yes", *unwanted], "pip could not remove packages that break vLLM")


def _read_version(home: EngineHome) -> str:
    """Return the version of the installed vLLM. Raises `GymposiumError` if it cannot be imported."""
    check = subprocess.run(
        make_python_command("-c", CHECK, python=home.python),
        env=make_clean_environment(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    versions = [line.split()[1] for line in check.stdout.splitlines() if line.startswith("version ")]
    if check.returncode or not versions:
        last = "\n".join(check.stderr.strip().splitlines()[-5:])
        raise GymposiumError(f"vLLM was installed in {home.root}, but it cannot be imported:\n{last}")
    return versions[0]


def _run(command: Sequence[str], failed: str) -> None:
    """Run a command with its output on stderr, where all progress is shown."""
    code = subprocess.run(command, stdout=sys.stderr, env=make_clean_environment(os.environ), check=False).returncode
    if code:
        raise GymposiumError(
            f"{failed}: {' '.join(command)} failed with exit code {code}. See its messages above. Fix the cause and "
            f"run gymposium engine setup again. It starts from the beginning."
        )


OURS = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_CONSTRAINT", "PIP_REQUIREMENT", PLUGIN_FILES}
"""Environment variables that point to this process's packages or to version constraints for them."""

TORCHRUN = (
    "TORCHELASTIC_ TORCH_NCCL_ RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK "
    "ROLE_WORLD_SIZE ROLE_NAME MASTER_ADDR MASTER_PORT"
).split()
"""Prefixes of the variables that torchrun sets for its processes. A vLLM server forms other process groups: with
`TORCHELASTIC_USE_AGENT_STORE`, torch opens no store for a group that meets over TCP, and waits for one."""


def make_clean_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a process in the engine's virtual environment: the safe path, and this process's
    variables except `OURS` and torchrun's."""
    return {
        name: value
        for name, value in make_python_environment(variables).items()
        if name not in OURS and not name.startswith(tuple(TORCHRUN))
    }
