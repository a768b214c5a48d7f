"""The connection of this process to a Ray cluster."""

from __future__ import annotations

import os
import signal
import socket
import threading

import ray
import ray._private.worker
from ray.job_config import JobConfig

from gymposium.errors import GymposiumError
from gymposium_ray.causes import describe_cause

LOOPBACK = "127.0.0.1"
SECONDS = 10.0
"""Time limit for connecting to a cluster, in seconds."""


def connect(address: str | None) -> None:
    """Connect to the cluster at `address`, by default `RAY_ADDRESS` or this machine's cluster. Without one, start a
    local cluster, which ends with this process.

    Raises `GymposiumError` without a cluster at the address."""
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    given = address or os.environ.get("RAY_ADDRESS") or _find_local_cluster()
    if given is not None:
        _check_answers(given)
    ray._private.worker._worker_logs_enabled = False  # Ray prints warnings to stdout, where results go
    options = {
        "job_config": GuardedJobConfig(),
        "log_to_driver": False,
        "logging_level": "ERROR",
        "namespace": "gymposium",
    }
    try:
        if given is None:
            ray.init(include_dashboard=False, _node_ip_address=LOOPBACK, **options)
        else:
            ray.init(given, **options)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        raise _ClusterNotFound(given, error) from error
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)  # Ray replaces the handler, which lets a run be resumed


class GuardedJobConfig(JobConfig):
    """A job config that keeps this process's working directory out of the workers' `sys.path`. Ray would put it before
    the standard library."""

    def _serialize(self) -> bytes:
        self._py_driver_sys_path: list[str] = []
        return bytes(super()._serialize())


class _ClusterNotFound(GymposiumError):
    """An error for an address without a cluster."""

    def __init__(self, address: str | None, error: Exception) -> None:
        super().__init__(
            f"No Ray cluster answers at {address} ({describe_cause(error)}). Start one with  ray start "
            f"--head  on its first machine, and  ray start --address HOST:PORT  on the others."
        )


def _check_answers(address: str) -> None:
    """Raise `_ClusterNotFound` unless something listens at HOST:PORT. Ray would retry for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        return  # a word such as `auto`
    try:
        socket.create_connection((host, int(port)), SECONDS).close()
    except OSError as error:
        raise _ClusterNotFound(address, error) from error


def _find_local_cluster() -> str | None:
    """Return the address of a cluster that `ray start` started on this machine, or None."""
    from ray._private.services import find_gcs_addresses

    found = sorted(find_gcs_addresses())
    return found[0] if found else None
