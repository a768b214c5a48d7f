"""Where a model's files come from, and what they may do: be read as data, and nothing else unless the user says so."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from gymposium.errors import GymposiumError

_HUB_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Trust:
    """What a model's directory may do besides being read as data."""

    remote_code: bool = False
    """Bring Python code, which runs here with all rights of this process (`trust_remote_code=true`)."""
    pickles: bool = False
    """Bring weights as pickles, `pytorch_model.bin` and the like (`allow_pickle=true`)."""

    def facts(self) -> dict[str, bool]:
        """What is trusted, by the name of its option."""
        given = {"trust_remote_code": self.remote_code, "allow_pickle": self.pickles}
        return {name: value for name, value in given.items() if value}


NO_TRUST = Trust()
"""Files are data."""


def reading(name: str | Path, trust: Trust) -> dict[str, Any]:
    """What transformers' `from_pretrained` is told of this model. It never asks at the terminal, and looks for no hub
    that cannot be reached: it would try that for a minute and a half."""
    return {"trust_remote_code": trust.remote_code, "local_files_only": not _may_be_asked_for(name)}


def on_this_machine_only(name: str | Path) -> bool:
    """Whether this model can be here or nowhere: it is a directory, or the hub cannot be reached."""
    return not _may_be_asked_for(name)


def _may_be_asked_for(name: str | Path) -> bool:
    from huggingface_hub import constants

    return not Path(name).is_dir() and not constants.HF_HUB_OFFLINE and _can_reach(constants.ENDPOINT)


def _can_reach(address: str) -> bool:
    """Whether something listens at the address; a proxy is believed to reach everything."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme in getproxies() and not proxy_bypass(host):
        return True
    try:
        socket.create_connection((host, parts.port or (80 if parts.scheme == "http" else 443)), _HUB_SECONDS).close()
    except OSError:
        return False
    return True


def no_model(name: str | Path, error: Exception) -> GymposiumError:
    """What to raise where transformers cannot read a model."""
    said = str(error)
    if "trust_remote_code" in said:
        return GymposiumError(
            f"The model {str(name)!r} brings Python code, which is not run: it would have all your rights. Read it, "
            f"and if you trust it say trust_remote_code=true (an option of lm:, model.trust_remote_code in a training "
            f"config, --trust-remote-code of gymposium lora merge)."
        )
    if "safetensors" in said and (not Path(name).is_dir() or any(map(_is_pickle, Path(name).iterdir()))):
        return GymposiumError(
            f"The model {str(name)!r} has no weights as safetensors, and pickled ones are not read: save it with "
            f"transformers' save_pretrained, or if you trust the file say allow_pickle=true (an option of lm:, "
            f"model.allow_pickle in a training config, --allow-pickle of gymposium lora merge). ({said})"
        )
    hub = "" if Path(name).is_dir() or not on_this_machine_only(name) else " The hub cannot be reached from here."
    return GymposiumError(
        f"There is no model at {str(name)!r}: give a directory that holds one, or the name of one on the hub.{hub} "
        f"({said})"
    )


def _is_pickle(file: Path) -> bool:
    return file.suffix in PICKLES


PICKLES = (".bin", ".pt", ".pth")
"""Endings of pickled weights."""
