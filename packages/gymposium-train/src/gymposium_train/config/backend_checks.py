"""What the backend of a config says about it before the run starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from gymposium.plugins.host import host
from gymposium_train.config.root import TrainConfig
from gymposium_train.util.variants import make_variant


class BackendChecks(Protocol):
    """The part of a backend that looks at configs. It must import nothing heavy, since it is used before the start."""

    def refusals(self, config: TrainConfig) -> Iterator[str]:
        """A sentence for each setting that the backend cannot do, with the reason and what to change. It begins with
        the path of the setting. Nothing outside of the config is looked at."""
        ...

    def missing(self, config: TrainConfig) -> Iterator[str]:
        """A sentence for everything that the backend needs and does not find: a model, a package, a service, a key.
        This may ask the network."""
        ...

    def outline(self, config: TrainConfig) -> dict[str, str]:
        """Lines of text by topic about the model, for the outline of a run. The network is not asked. Raises
        `BadOption` for a LoRA on layers that the model does not have."""
        ...


def backend_checks(config: TrainConfig) -> BackendChecks:
    """The checks of the config's backend. Raises `UnknownName` if its plugin is not loaded."""
    checks: BackendChecks = make_variant("backend", host().backends, config.backend.kind, config.backend)
    return checks
