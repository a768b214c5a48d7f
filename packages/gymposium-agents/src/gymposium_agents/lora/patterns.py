"""The regular expressions in an adapter's configuration, tried in a process with limits before PEFT uses them.

PEFT treats `target_modules`, `exclude_modules`, `layers_pattern`, `modules_to_save`, `rank_pattern` and `alpha_pattern`
as regular expressions and matches them against the names of all layers. An expression such as `(a+)+$` never finishes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.util.isolated import CallFailed, Child
from gymposium_agents.lora.files import CONFIG

_MATCHER = Child("matching them", 60.0, cpu_seconds=2.0, memory=1 << 30)
_NAME = re.compile(r"[\w.-]*")
_MOST_NAMES = 64
"""Maximum number of plain names in a configuration that are accepted without a trial."""


def check_patterns(config: Mapping[str, Any], model: Any, source: object) -> None:
    """Raise `GymposiumError` if an adapter's expressions are invalid, or too slow on the names of this model's layers.
    `config` was accepted by `read_adapter`, and `source` names the adapter."""
    given = list(_list_expressions(config))
    if len(given) <= _MOST_NAMES and all(_NAME.fullmatch(text) for _, text in given):
        return
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    names = [name for name, _ in base.named_modules()] + [name for name, _ in base.named_parameters()]
    try:
        reason = _MATCHER.call(
            _find_objection, [(field, _make_peft_pattern(field, text)) for field, text in given], names
        )
    except CallFailed as error:
        reason = str(error).removesuffix(".")
    if reason:
        fields = ", ".join(dict.fromkeys(field.removesuffix("[]") for field, _ in given))
        raise GymposiumError(
            f"The adapter {str(source)!r} has invalid regular expressions in its {CONFIG} ({fields}): {reason}. Write "
            f"the names of the layers instead."
        )


def _list_expressions(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each expression with its field's name. A text is one expression, and a list contains names or
    expressions."""
    for field in ("target_modules", "exclude_modules"):
        value = config.get(field) or ()
        yield from [(field, value)] if isinstance(value, str) else ((f"{field}[]", name) for name in value)
    layers = config.get("layers_pattern") or ()
    yield from (("layers_pattern", text) for text in ([layers] if isinstance(layers, str) else layers))
    for field in ("modules_to_save", "rank_pattern", "alpha_pattern"):
        yield from ((field, text) for text in config.get(field) or ())


def _make_peft_pattern(field: str, text: str) -> str:
    """Return the expression as PEFT 0.21 passes it to `re.match` (`peft/tuners/tuners_utils.py`)."""
    match field:
        case "target_modules" | "exclude_modules":
            return rf"(?:{text})\Z"
        case "layers_pattern":
            return rf"(?:^|.*?\.){text}\.(?P<idx>\d+)\."
        case "rank_pattern" | "alpha_pattern":
            return rf"(.*\.)?({text})$"
    return rf"(^|.*\.){text}($|\..*)"


def _find_objection(expressions: Sequence[tuple[str, str]], names: Sequence[str]) -> str:
    """Return the reason why the expressions cannot be used. Returns "" after matching all of them against all names."""
    for field, text in expressions:
        try:
            pattern = re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            return f"{field.removesuffix('[]')} contains an invalid one ({error})"
        for name in names:
            pattern.match(name)
    return ""
