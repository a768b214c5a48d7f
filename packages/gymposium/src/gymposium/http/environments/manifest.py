"""The file `openenv.yaml`, by which OpenEnv's tools know an environment."""

from __future__ import annotations

import json
from importlib.metadata import version

from gymposium.http.environments.dockerfile import PORT
from gymposium.http.environments.offer import EnvOffer

_MANIFEST = """\
spec_version: 1
name: {name}
version: {version}
type: space
runtime: docker
port: {port}
validation:
  reward:
    range: {range}
    floor_margin: 0.1
  resources:
    cpu: 1.0
    memory_mb: 1024
    disk_mb: 512
    episode_timeout_s: 3600.0
  capabilities:
    verifier:
      kind: reward_channel
  types:
    tags: {tags}
"""


def build_manifest(offer: EnvOffer) -> str:
    """Return `openenv.yaml` for a server with this offer. Its name is that of the first game."""
    games, policy = list(offer.games.values()), offer.on_illegal
    least = min(game.utility_range[0] for game in games) - policy.cost * policy.tries
    return _MANIFEST.format(
        name=games[0].spec.name,
        version=version("gymposium"),
        port=PORT,
        range=json.dumps([least, max(game.utility_range[1] for game in games)]),
        tags=json.dumps(["gymposium", *dict.fromkeys(game.spec.name for game in games)]),
    )
