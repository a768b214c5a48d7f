"""GPU checks for the learner and the run's vLLM servers, before anything is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import prod

from gymposium.util.visible import quantity
from gymposium_agents.engines.vllm.settings import VllmSettings, divide_devices

SHARE = "--gpu-memory-utilization"
"""The vLLM option that sets its share of GPU memory."""
PARALLEL = (
    ("--tensor-parallel-size", "-tp"),
    ("--pipeline-parallel-size", "-pp"),
    ("--data-parallel-size", "-dp"),
)
"""The vLLM options whose values multiply its number of GPUs."""


def visible_gpus(variable: str | None, count: int) -> tuple[str, ...]:
    """Return the names of the `count` GPUs visible to a process. `variable` is its `CUDA_VISIBLE_DEVICES`. If that is
    None, the names are numbers."""
    if variable is None:
        return tuple(map(str, range(count)))
    return tuple(name.strip() for name in variable.split(","))[:count]


def find_device_problem(engine: VllmSettings, visible: Sequence[str], learners: int) -> str | None:
    """Return the reason why the run's vLLM servers cannot start beside `learners` learning processes on this machine,
    with the fix. Returns None if they can. Each process uses one of the `visible` GPUs, in order.

    Each server has its own GPUs. Learner and server may share a GPU only if `engine.arguments` limits the server's
    share of the memory."""
    if not visible:
        return None
    devices = engine.devices or tuple(visible)
    if engine.devices and _are_numbers(engine.devices) != _are_numbers(visible):
        return (
            f"engine.devices = {_join_names(engine.devices)}: this process names its GPUs {_join_names(visible)} "
            f"(CUDA_VISIBLE_DEVICES), so the two cannot be compared. Use the same names for both."
        )
    try:
        needed = prod(int(find_argument(engine.arguments, *names) or 1) for names in PARALLEL)
        share = find_argument(engine.arguments, SHARE)
        shares_memory = share is not None and 0 < float(share) < 1
    except ValueError as error:
        return f"engine.arguments: {error}."
    taken, wanted = visible[:learners], needed * engine.servers
    spare = [f'"{name}"' for name in visible if name not in taken][:wanted]
    if engine.servers > 1 and not engine.devices:
        example = f", such as [{_join_names(spare)}]" if len(spare) == wanted else ""
        return (
            f"engine.servers = {engine.servers}: name {quantity(wanted, 'GPU')} in "
            f"engine.devices{example}, {needed} per server."
        )
    if len(set(engine.devices)) < len(engine.devices):
        return f"engine.devices = {_join_names(engine.devices)}: duplicate GPU. Name each GPU once."
    groups = divide_devices(devices, engine.servers)
    if len(groups[0]) < needed:
        return (
            f"engine.arguments requests {quantity(needed, 'GPU')}, but {_name_server(engine)} may use "
            f"{_join_names(groups[0])}. Name "
            f"{quantity(needed, 'GPU')} in engine.devices."
        )
    both = [name for group in groups for name in group[:needed] if name in taken]
    if not both or shares_memory:
        return None
    separate = f"engine.devices=[{_join_names(spare)}] for separate GPUs"
    if len(spare) < wanted:
        separate = "engine.url to a server on other GPUs"
    return (
        f"learner and server would share GPU {_join_names(both)}. The server reserves 90% of its memory, but "
        f'the learner loads first. Set {separate}, or engine.arguments=["{SHARE}", "0.4"] to limit the server\'s share.'
    )


def find_server_share(engine: VllmSettings, visible: Sequence[str], learners: int) -> float:
    """Return the share of a learning process's GPU memory that the run's servers take: 0 if they have their own GPUs or
    do not belong to the run. The other arguments are as in `find_device_problem`, which has checked the settings."""
    share = find_argument(engine.arguments, SHARE)
    is_shared = {*(engine.devices or visible)} & {*visible[:learners]}
    return float(share) if share is not None and engine.url is None and is_shared else 0.0


def find_argument(arguments: Sequence[str], *names: str) -> str | None:
    """Return the value of an option in a command line, `--name value` or `--name=value`. The last one counts, as in
    vLLM. Returns None for a missing option, and an empty string for an option without a value."""
    last = None
    for text, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        name, equals, value = text.partition("=")
        if (name.replace("_", "-") if name.startswith("--") else name) in names:
            last = value if equals else following
    return last


def _name_server(engine: VllmSettings) -> str:
    return "the server" if engine.servers == 1 else "each server"


def _are_numbers(names: Sequence[str]) -> bool:
    return all(name.isdecimal() for name in names)


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names)
