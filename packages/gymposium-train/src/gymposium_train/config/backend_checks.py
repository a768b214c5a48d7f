"""Backend-specific checks of a config before the run starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from gymposium.plugins.host import host
from gymposium_train.config.root import TrainConfig
from gymposium_train.util.variants import make_variant


class BackendChecks(Protocol):
    """The part of a backend that checks configs. It is used before the start, so it must not import anything heavy."""

    def refusals(self, config: TrainConfig) -> Iterator[str]:
        """Yield a sentence for each setting that the backend does not support, with the reason and the fix. It begins
        with the path of the setting. Only the config is examined."""
        ...

    def missing(self, config: TrainConfig) -> Iterator[str]:
        """Yield a sentence for everything that the backend needs but cannot find: a model, a package, a service, a key.
        May use the network."""
        ...

    def outline(self, config: TrainConfig) -> dict[str, str]:
        """Return lines about the model for a run's outline, by topic. Does not use the network. Raises `BadOption` for
        a LoRA on layers that the model does not have."""
        ...


def find_backend_checks(config: TrainConfig) -> BackendChecks:
    """Return the checks of the config's backend. Raises `UnknownName` if its plugin is not loaded."""
    checks: BackendChecks = make_variant("backend", host().backends, config.backend.kind, config.backend)
    return checks
