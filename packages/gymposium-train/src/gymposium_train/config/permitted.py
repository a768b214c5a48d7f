"""Permissions for config files: the settings that need the user's consent.

A config file, or the config in a run's directory, may come from anyone. Every name in it must pass the check for names
in files (`gymposium.plugins.allowed`). The same holds for every setting that opens a file, an address or a program, as
declared by its plugin's spec. The user permits a setting by typing it, or by allowing its name with `gymposium --allow
NAME`. A config may name the learner's model and servers on this machine.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from gymposium.errors import GymposiumError, PermissionRequired
from gymposium.games.registry import check_named_game
from gymposium.players.grammar import check_named_player
from gymposium.plugins.allowed import is_allowed
from gymposium.plugins.host import host
from gymposium.plugins.specs import ConfiguredSpec
from gymposium.rewards.grammar import check_named_reward
from gymposium_agents.engines.vllm.settings import is_loopback
from gymposium_train.config.overrides import Override
from gymposium_train.config.root import AUTO_TEACHER, TrainConfig
from gymposium_train.util.settings import Settings

_OWN = ("self", "past")
"""Opponents that are versions of the learner's model."""
_ADDRESS = "an address"
"""Prefix of the nouns that plugin specs use for addresses. Servers on this machine need no permission."""
_URL = re.compile(r"https?://([a-zA-Z0-9.-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?(/[a-zA-Z0-9._~/-]*)?")
"""The pattern of URLs that all libraries parse alike. They disagree, for example, about the host in
`http://one\\@two`."""
Check = Callable[[str], None]


def check_permitted(config: TrainConfig, typed: Collection[Override] = ()) -> None:
    """Raise `PermissionRequired` for settings in a file that only the user may give. `typed` are the settings given on
    the command line."""
    for path, name, check in _list_checks(config):
        if any(path[: len(setting.path)] == setting.path for setting in typed):
            continue
        try:
            check(name)
        except PermissionRequired as error:
            raise PermissionRequired(error.name, f"{'.'.join(path)}: {error.why}", error.flag) from None


def list_names_to_allow(config: TrainConfig) -> list[str]:
    """Return the names in a run's config that the user must allow again to resume the run."""
    return list(
        dict.fromkeys(name for _, name, check in _list_checks(config) if is_allowed(name) or _is_refused(check, name))
    )


def _is_refused(check: Check, name: str) -> bool:
    try:
        check(name)
    except PermissionRequired:
        return True
    return False


def _list_checks(config: TrainConfig) -> Iterator[tuple[tuple[str, ...], str, Check]]:
    """Yield each name in a config that needs a check, with its setting and the check."""
    yield from ((("games",), name, check_named_game) for name in config.games)
    yield ("reward",), config.reward, check_named_reward
    opponents = [name for stage in config.stages for name in stage.opponents if name not in _OWN]
    yield from ((("stages",), name, _check_player) for name in opponents)
    yield from ((("evaluation", "opponents"), name, _check_player) for name in config.evaluation.opponents)
    if config.has_teacher and config.teacher != AUTO_TEACHER:
        yield ("teacher",), config.teacher, _check_player
    yield from ((("cold_start", "data"), file, _make_check("it opens a file")) for file in config.cold_start.data)
    plugins = host()
    tables: dict[str, Mapping[str, ConfiguredSpec]] = {
        "engine": plugins.engines,
        "backend": plugins.backends,
        "source": plugins.sources,
        "credit": plugins.credits,
        "objective": plugins.objectives,
    }
    for table, specs in tables.items():
        settings: Settings = getattr(config, table)
        kind = str(getattr(settings, "kind", ""))
        yield from _list_plugin_checks((table,), specs.get(kind), dict(settings))
    for logger, values in config.loggers.items():
        yield from _list_plugin_checks(("loggers", logger), plugins.loggers.get(logger), values)
    for setting, value in config.model.trust.facts().items():
        why = f"the file says {setting} = {str(value).lower()}"
        yield ("model", setting), config.model.name or "", _make_check(why)


def _list_plugin_checks(
    path: tuple[str, ...], spec: ConfiguredSpec | None, values: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], str, Check]]:
    """Yield a plugin's settings that need permission: those that its spec declares, and all addresses."""
    opens = {} if spec is None else spec.opens
    if "" in opens:
        yield path, ".".join(path), _make_check(f"it opens {opens['']}")
    for name, value in values.items():
        if name in opens and isinstance(value, list | tuple):
            value = " ".join(map(str, value))
        for text in _list_texts(value):
            if name in opens or "://" in text:
                noun = opens.get(name, _ADDRESS)
                yield (*path, name), text, _make_check(f"it opens {noun}", is_address=noun.startswith(_ADDRESS))


def _list_texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value, split at commas, which separate addresses."""
    if isinstance(value, str):
        yield from (part.strip().rstrip("/") for part in value.split(",")) if "://" in value else (value,)
    elif isinstance(value, Mapping):
        yield from (text for one in value.values() for text in _list_texts(one))
    elif isinstance(value, list | tuple):
        yield from (text for one in value for text in _list_texts(one))


def _make_check(why: str, *, is_address: bool = False) -> Check:
    """Return a check that accepts only names allowed by the user and, for an address, servers on this machine."""

    def check(name: str) -> None:
        if name and not (is_address and _is_local(name)) and not is_allowed(name):
            raise PermissionRequired(name, why, f"--allow {shlex.quote(name)}")

    return check


def _is_local(address: str) -> bool:
    url = _URL.fullmatch(address)
    return url is not None and is_loopback(url[1].strip("[]").lower())


def _check_player(name: str) -> None:
    try:
        check_named_player(name)
    except PermissionRequired:
        raise
    except GymposiumError:
        return  # the config check reports it
