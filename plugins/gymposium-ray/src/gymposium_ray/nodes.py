"""The nodes of a cluster: which are usable, and which were lost."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from gymposium.errors import GymposiumError
from gymposium_ray.causes import describe_cause
from gymposium_ray.node_setup import Setup, collect_versions, describe_difference

DISTRIBUTIONS = ("gymposium", "gymposium-ray")
"""Distributions that must have the same version on a node before it runs gymposium's code."""
PATIENCE = 60.0
"""Time limit in seconds for a node's answer."""
LABEL = "ray.io/node-id"
"""The Ray label that contains a node's id."""


class Nodes:
    """The nodes of the cluster. Each is compared once with this process, and excluded if it differs."""

    def __init__(self, setup: Setup, note: Callable[[str], object]) -> None:
        """`note` is called with messages for the user, such as why a node is excluded."""
        self._setup, self._note = pickle.dumps(setup), note
        self._installed = {name: version(name) for name in DISTRIBUTIONS}
        self._here = collect_versions()
        self._addresses: dict[str, str] = {}
        """The addresses of usable nodes at the last refresh, by id."""
        self._refused: dict[str, str] = {}
        """The reason why a node is excluded, by id."""

    @property
    def selector(self) -> dict[str, str]:
        """Ray's label selector for usable nodes."""
        return {LABEL: f"!in({','.join(sorted(self._refused))})"} if self._refused else {}

    def can_use(self, node: str) -> bool:
        """Return whether the node with this id is usable."""
        return node not in self._refused

    def total(self, resource: str) -> float:
        """Return the total amount of a resource on usable nodes."""
        usable = (node for node in _list_alive() if self.can_use(node["NodeID"]))
        return sum(float(node["Resources"].get(resource, 0)) for node in usable)

    def refresh(self) -> bool:
        """Compare newly joined nodes with this process, and report lost nodes. Returns whether a new node was excluded.

        Raises `GymposiumError`, with the reason for each node, if none is usable."""
        alive = {node["NodeID"]: str(node["NodeManagerAddress"]) for node in _list_alive()}
        for node, address in self._addresses.items():
            if node not in alive:
                self._note(f"The node {address} is lost.")
        joined = [node for node in alive if node not in self._addresses and node not in self._refused]
        refused = self._compare(joined)
        for node, why in refused.items():
            self._note(f"The node {alive[node]} is not used: {why}.")
        self._refused |= refused
        self._addresses = {node: address for node, address in alive.items() if node not in self._refused}
        if not self._addresses:
            reasons = (f"{alive[node]}: {self._refused[node]}" for node in alive)
            raise GymposiumError(
                f"The Ray cluster has no usable node. Install the same packages on each node as here. "
                f"{'; '.join(reasons)}."
            )
        return bool(refused)

    def _compare(self, nodes: Iterable[str]) -> dict[str, str]:
        """Compare nodes' versions with this process. Returns the reason for each unusable node, by id."""
        task = ray.remote(num_cpus=0, max_retries=0)(_make_probe())
        asked = {
            task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(
                self._installed, self._setup
            ): node
            for node in nodes
        }
        if not asked:
            return {}
        answered, silent = ray.wait([*asked], num_returns=len(asked), timeout=PATIENCE)
        refused = {asked[reference]: f"it does not answer within {PATIENCE:g} s" for reference in silent}
        for reference in answered:
            try:
                installed, there = ray.get(reference)
            except RayError as error:
                refused[asked[reference]] = f"it cannot be set up: {describe_cause(error)}"
                continue
            how = describe_difference(self._installed, installed) or describe_difference(self._here, there)
            if how is not None:
                refused[asked[reference]] = f"it has {how}"
        return refused


def _list_alive() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _make_probe() -> Callable[[dict[str, str], bytes], tuple[dict[str, str], dict[str, str]]]:
    """Return the function that a node runs. It is a closure so that Ray pickles its code: the node may lack
    gymposium-ray."""

    def answer(installed: dict[str, str], setup: bytes) -> tuple[dict[str, str], dict[str, str]]:
        import pickle
        from importlib.metadata import PackageNotFoundError, version

        found = {}
        for name in installed:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                continue
        if found != installed:
            return found, {}
        pickle.loads(setup).apply()  # noqa: S301 (from the process that started this task)
        from gymposium_ray.node_setup import collect_versions

        return found, collect_versions()

    return answer
