"""Games as network environments for OpenEnv clients: `gymposium serve-env`."""

from gymposium.http.environments.offer import EnvOffer
from gymposium.http.environments.server import build_environments_app

__all__ = ["EnvOffer", "build_environments_app"]
