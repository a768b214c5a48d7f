"""Standard streams and the working directory, checked before a command begins."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gymposium.errors import BadOption


def reserve_descriptors() -> None:
    """Open the null device for each closed standard stream.

    Otherwise the next opened file would get the free descriptor, and output would go into that file. Raises `BadOption`
    if stdout was closed, because results would be lost."""
    closed = set()
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            closed.add(name)
            opened = os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is this one
            os.set_inheritable(opened, True)
        if getattr(sys, name) is None:
            stream = open(descriptor, "w" if descriptor else "r", encoding="utf-8")  # noqa: SIM115 - it stays open
            setattr(sys, name, stream)
    if "stdout" in closed:
        raise BadOption("stdout is closed, so results would be lost. To discard them, append:  >/dev/null")


def check_working_directory() -> None:
    """Raise `BadOption` if the working directory was deleted."""
    try:
        Path.cwd()
    except OSError as error:
        raise BadOption("The working directory no longer exists. Change to another directory:  cd") from error
