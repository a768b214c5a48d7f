"""Permissions of config files: a file alone may not decide where keys and prompts are sent, or which code runs.

A config file may come from a stranger. It may name games, models and opponents. The address or key of a service, the
address of a server, also of one that keeps metrics, and trust in a model's code or pickles are accepted only if the
user typed them as a setting, or allowed the name with `gymposium --allow NAME`.
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

_OPTION = re.compile(r"[?&](address|base_url|key|engine|trust_remote_code|allow_pickle)=")


def check_permitted(config: TrainConfig, typed: Collection[Override] = ()) -> None:
    """Raise `NotAllowed` for a setting of a file that only the user may give. `typed` are the settings that the user
    gave on the command line."""
    for path, name, why in _named(config):
        if not is_allowed(name) and not any(path[: len(setting.path)] == setting.path for setting in typed):
            raise NotAllowed(name, f"{'.'.join(path)}: {why}", f"--allow {shlex.quote(name)}")


def to_allow(config: TrainConfig) -> list[str]:
    """The names in a run's config that the user must allow again to resume the run."""
    return list(dict.fromkeys(name for _, name, _ in _named(config)))


def _named(config: TrainConfig) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Each setting that needs the user's permission, the name in it, and the reason."""
    names: list[tuple[tuple[str, ...], str]] = [(("reward",), config.reward)]
    names += [(("stages",), name) for stage in config.stages for name in stage.opponents]
    names += [(("evaluation", "opponents"), name) for name in config.evaluation.opponents]
    for path, name in names:
        if option := _OPTION.search(unquote_plus(name)):
            yield path, name, f"it says {option[1]}="
    addresses: list[tuple[tuple[str, ...], str, str]] = [
        (("engine", "url"), url.strip().rstrip("/"), "prompts and the server's key would be sent there")
        for url in (getattr(config.engine, "url", None) or "").split(",")
    ]
    base_url = getattr(config.backend, "base_url", None) or ""
    addresses.append((("backend", "base_url"), base_url, "the rows and the service's key would be sent there"))
    addresses += [
        (("loggers", logger, setting), value, "metrics, and the keys of the logger, would be sent there")
        for logger, settings in config.loggers.items()
        for setting, value in settings.items()
        if isinstance(value, str) and "://" in value
    ]
    for where, address, why in addresses:
        if address and not is_loopback(urlsplit(address).hostname or ""):
            yield where, address, why
    for setting, why in (("run", "this command would run"), ("scores", "this code would run")):
        if (named := getattr(config.source, setting, None)) is not None:
            yield ("source", setting), named, why
    for setting, value in config.model.trust.facts().items():
        yield ("model", setting), config.model.name or "", f"the file says {setting} = {str(value).lower()}"
