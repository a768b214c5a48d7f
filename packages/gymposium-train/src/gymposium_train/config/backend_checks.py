"""Backend-specific checks of a config before the run starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from gymposium.plugins.host import host
from gymposium_train.config.root import TrainConfig
from gymposium_train.util.variants import make_variant


class BackendChecks(Protocol):
    """A backend's config checks. They run before the run starts, so they must not import heavy packages."""

    def refusals(self, config: TrainConfig) -> Iterator[str]:
        """Yield a sentence for each unsupported setting, with the reason and the fix. It begins with the setting's
        path. Examines only the config."""
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
