"""Games as environments over a network, for clients of OpenEnv: `gymposium serve-env`."""

from gymposium.serving.environments.offer import EnvOffer
from gymposium.serving.environments.server import environments_app

__all__ = ["EnvOffer", "environments_app"]
