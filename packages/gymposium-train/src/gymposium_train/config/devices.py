"""Which GPUs the learner takes and which the vLLM server that a run starts, decided before anything is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gymposium_agents.engines.vllm.settings import VllmSettings

SHARE = "--gpu-memory-utilization"
"""vLLM's argument for its share of a GPU's memory."""
PARALLEL = (
    ("--tensor-parallel-size", "-tp"),
    ("--pipeline-parallel-size", "-pp"),
    ("--data-parallel-size", "-dp"),
)
"""vLLM's arguments that multiply the number of its GPUs."""


def visible_gpus(variable: str | None, count: int) -> tuple[str, ...]:
    """The names of the `count` GPUs that a process sees, as in its `CUDA_VISIBLE_DEVICES`, whose value is `variable`;
    numbers where that is not set."""
    if variable is None:
        return tuple(map(str, range(count)))
    return tuple(name.strip() for name in variable.split(","))[:count]


def devices_problem(engine: VllmSettings, visible: Sequence[str], learners: int) -> str | None:
    """Why the run's own vLLM server cannot be started beside `learners` learning processes on this machine, each of
    which takes one of the `visible` GPUs in their order, and what to set; None where it can.

    Learner and server may share a GPU only where `engine.arguments` gives the server its share of the memory."""
    if not visible:
        return None
    given = engine.devices or tuple(visible)
    if engine.devices and _numbers(engine.devices) != _numbers(visible):
        return (
            f"engine.devices = {_listed(engine.devices)}: this process names its GPUs {_listed(visible)} "
            f"(CUDA_VISIBLE_DEVICES), so it cannot be seen which are the same. Name them alike."
        )
    try:
        needed = prod(int(argument(engine.arguments, *names) or 1) for names in PARALLEL)
        share = argument(engine.arguments, SHARE)
        shared_by_choice = share is not None and 0 < float(share) < 1
    except ValueError as error:
        return f"engine.arguments: {error}."
    if len(given) < needed:
        return (
            f"engine.arguments asks for {needed} GPUs, and the server may use {_listed(given)}. Name as many in "
            f"engine.devices."
        )
    taken, server = visible[:learners], given[:needed]
    both = [name for name in server if name in taken]
    if not both or shared_by_choice:
        return None
    spare = [f'"{name}"' for name in visible if name not in taken][:needed]
    own = "engine.url to a server on other GPUs"
    if len(spare) == needed:
        own = f"engine.devices=[{_listed(spare)}] for GPUs of its own"
    return (
        f"learner and server would share GPU {_listed(both)}. The server wants nine tenths of its "
        f'memory, and the learner loads first. Set {own}, or engine.arguments=["{SHARE}", "0.4"] for the share that '
        f"the learner leaves."
    )


def argument(arguments: Sequence[str], *names: str) -> str | None:
    """The value of a command line's argument, `--name value` or `--name=value`; the last one counts, as in vLLM."""
    found = None
    for place, written in enumerate(arguments):
        name, equals, value = written.partition("=")
        if (name.replace("_", "-") if name.startswith("--") else name) in names:
            found = value if equals else (arguments[place + 1] if place + 1 < len(arguments) else "")
    return found


def _numbers(names: Sequence[str]) -> bool:
    return all(name.isdecimal() for name in names)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
