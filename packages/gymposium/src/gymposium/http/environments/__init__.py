"""Games as environments over a network, for OpenEnv clients: `gymposium serve-env`."""

from gymposium.http.environments.offer import EnvOffer
from gymposium.http.environments.server import environments_app

__all__ = ["EnvOffer", "environments_app"]
