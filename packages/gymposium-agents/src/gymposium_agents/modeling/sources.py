"""The sources of a model's files, and trust in the files. They are only read as data unless the user allows more."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from gymposium.errors import GymposiumError, describe_cause
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium_agents.modeling.model_files import MOST_SETTINGS_BYTES, check_model_files

_HUB_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Trust:
    """The uses of a model's files that the user allows, in addition to reading them as data."""

    remote_code: bool = False
    """Run Python code from the model's files, with all rights of this process (`trust_remote_code=true`)."""
    pickles: bool = False
    """Read weights from pickles such as `pytorch_model.bin` (`allow_pickle=true`)."""

    def facts(self) -> dict[str, bool]:
        """Return the allowed uses, by option name."""
        options = {"trust_remote_code": self.remote_code, "allow_pickle": self.pickles}
        return {name: allowed for name, allowed in options.items() if allowed}


NO_TRUST = Trust()
"""The default trust: files are only read as data."""


TITLE = "title"
"""Key in `config.json` with the display name of a model that is not on the hub. transformers keeps it in models trained
from it."""


def find_title(model: str | Path) -> str | None:
    """Return the display name of the model in a directory, or None for other models."""
    file = Path(model) / "config.json"
    if not file.is_file():
        return None
    try:
        settings = parse_strict_json(read_plain_text(file, MOST_SETTINGS_BYTES))
    except ValueError:  # transformers reads more than strict JSON
        return None
    title = settings.get(TITLE) if isinstance(settings, dict) else None
    return title if isinstance(title, str) else None


def prepare_reading(name: str | Path, trust: Trust) -> dict[str, Any]:
    """Check a model's files, and return the arguments for transformers' `from_pretrained`. With these arguments,
    transformers never prompts at the terminal. It also skips an unreachable hub, which would cost 90 seconds.

    Raises `UnsafeModelError`, and `OSError` or `ValueError` for a model that cannot be found."""
    here = is_only_local(name)
    check_model_files(name, remote_code=trust.remote_code, local_files_only=here)
    return {"trust_remote_code": trust.remote_code, "local_files_only": here}


def is_only_local(name: str | Path) -> bool:
    """Return True if the model can only be on this machine: it is a directory, or the hub cannot be reached."""
    from huggingface_hub import constants

    return Path(name).is_dir() or constants.HF_HUB_OFFLINE or not _can_reach(constants.ENDPOINT)


def _can_reach(address: str) -> bool:
    """Return True if a server listens at the address. A proxy is assumed to reach every address."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme in getproxies() and not proxy_bypass(host):
        return True
    try:
        socket.create_connection((host, parts.port or (80 if parts.scheme == "http" else 443)), _HUB_SECONDS).close()
    except OSError:
        return False
    return True


def make_missing_model_error(name: str | Path, error: Exception) -> GymposiumError:
    """Make the error for a model that transformers cannot read, including the fix."""
    message = describe_cause(error)
    if "trust_remote_code" in message:
        return GymposiumError(
            f"The model {str(name)!r} contains Python code. It is not run, because it would have all your rights. "
            f"Read it, and if you trust it, set trust_remote_code=true (an option of lm:, model.trust_remote_code in "
            f"a training config, --trust-remote-code of gymposium lora merge)."
        )
    is_directory = Path(name).is_dir()
    if "safetensors" in message and (not is_directory or any(f.suffix in PICKLES for f in Path(name).iterdir())):
        return GymposiumError(
            f"The model {str(name)!r} has no safetensors weights, and pickled ones are not read. Save it with "
            f"transformers' save_pretrained, or if you trust the file, set allow_pickle=true (an option of lm:, "
            f"model.allow_pickle in a training config, --allow-pickle of gymposium lora merge). ({message})"
        )
    if is_directory and (within := _list_models(Path(name))):
        return GymposiumError(
            f"The folder {str(name)!r} is not a model, but contains {', '.join(map(repr, within))}. Write lm:MODEL, "
            f"or lm:MODEL@ADAPTER with an adapter."
        )
    hub = "" if is_directory or not is_only_local(name) else " The hub cannot be reached from here."
    return GymposiumError(
        f"There is no model at {str(name)!r}: give a model's directory, or its name on the hub.{hub} ({message})"
    )


def _list_models(folder: Path) -> list[str]:
    """Return the models and adapters in this folder, such as a training run's."""
    marks = ("config.json", "adapter_config.json")
    return [
        str(inner)
        for inner in sorted(folder.iterdir())
        if any((inner / mark).is_file() for mark in marks) and any(inner.glob("*.safetensors"))
    ]


PICKLES = (".bin", ".pt", ".pth")
"""File extensions of pickled weights."""
