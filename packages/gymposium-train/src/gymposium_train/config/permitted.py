"""Permissions of config files: a file alone may not decide where keys and prompts go, and whose code runs.

A config file names games, models and opponents; that is what it is for. But it may be somebody else's. A service's
address or key, a server's address, and trust in a model's code or pickles hold only where the user typed them as a
setting, or allowed the name with `gymposium --allow NAME`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from urllib.parse import unquote_plus, urlsplit

from gymposium.allowed import is_allowed
from gymposium.errors import NotAllowed
from gymposium_agents.engines.vllm.settings import is_loopback
from gymposium_train.config.overrides import Override
from gymposium_train.config.root import TrainConfig

_OPTION = re.compile(r"[?&](base_url|key|engine|trust_remote_code|allow_pickle)=")


def check_permitted(config: TrainConfig, typed: Collection[Override] = ()) -> None:
    """Raise `NotAllowed` for settings of a file that only the user may give. `typed` are the settings that the user
    gave on the command line."""
    paths = {override.path for override in typed}
    for path, name, why in _named(config):
        if not is_allowed(name) and not any(path[: len(one)] == one for one in paths):
            raise NotAllowed(name, f"{'.'.join(path)}: {why}", f"--allow {shlex.quote(name)}")


def to_allow(config: TrainConfig) -> list[str]:
    """The names in a run's config that the user must allow again when the run goes on."""
    return list(dict.fromkeys(name for _, name, _ in _named(config)))


def _named(config: TrainConfig) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Each setting that needs the user's permission, what it names, and why."""
    players: list[tuple[tuple[str, ...], str]]
    players = [(("stages",), name) for stage in config.stages for name in stage.opponents]
    players += [(("evaluation", "opponents"), name) for name in config.evaluation.opponents]
    for path, name in [(("reward",), config.reward), *players]:
        if found := _OPTION.search(unquote_plus(name)):
            yield path, name, f"it says {found[1]}="
    url = getattr(config.engine, "url", None)
    if url is not None and not is_loopback(urlsplit(url).hostname or ""):
        yield ("engine", "url"), url, "prompts and the server's key would be sent there"
    for setting, given in config.model.trust.facts().items():
        yield ("model", setting), config.model.name or "", f"the file says {setting} = {str(given).lower()}"
