"""The plugin, which offers the executor `ray`."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import ExecutorSpec, hookimpl


@hookimpl
def gymposium_executors() -> Iterable[ExecutorSpec]:
    yield ExecutorSpec(name="ray", summary="A Ray cluster.", entry_point="gymposium_ray.executor:RayExecutor")
