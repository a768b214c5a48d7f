"""Third-party JSON schemas, checked and sampled within limits.

A schema may come from an untrusted server or record. References are never fetched. A schema that may be slow is
evaluated in a separate process with time and memory limits.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from gymposium.errors import MissingExtra
from gymposium.util.isolated import CallFailed, Child
from gymposium.util.strict_json import measure_depth

SECONDS = 2.0
"""CPU time limit in seconds for evaluating a schema that is not plain (`Schema.is_plain`)."""
_WALL_SECONDS = 60.0
_MOST_LATE = 3
"""Maximum number of timeouts of a schema. It is then no longer evaluated."""
_LONGEST = 200_000
_DEEPEST = 100

_ANNOTATIONS = frozenset(
    "$schema title description default examples format deprecated readOnly writeOnly $comment required enum const type "
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf maxLength maxItems maxProperties".split()
)
"""Keywords that are fast to evaluate and have no subschemas."""
_MOST_REQUIRED = 100
"""Maximum length that a plain schema may require of texts, lists and objects."""
_MOST_PLAIN, _DEEPEST_PLAIN = 500, 6
"""Maximum number of subschemas and of levels in a plain schema.

A choice evaluates its options twice, so time doubles per level."""

T = TypeVar("T")

_CHECKER = Child("The check of a JSON schema", _WALL_SECONDS, cpu_seconds=SECONDS)


class Schema:
    """A JSON schema in draft 4, 6, 7, 2019-09 or 2020-12, as named by `$schema`. The default is 2020-12.

    References are resolved within the schema. A dangling reference allows everything, as does a pattern that Python
    cannot compile."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Raise `ValueError` for a document that is not JSON, too long or too deep."""
        try:
            self._text = json.dumps(document, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the schema is not JSON ({type(error).__name__}: {error})") from None
        if len(self._text) > _LONGEST:
            raise ValueError(f"the schema has {len(self._text):,} characters, more than {_LONGEST:,}; shorten it")
        if (depth := measure_depth(document)) > _DEEPEST:
            raise ValueError(f"the schema is nested {depth} deep, more than {_DEEPEST}; flatten it")
        self._document = document
        self._late = 0

    @cached_property
    def is_plain(self) -> bool:
        """Whether the schema's size bounds its evaluation time."""
        return _is_plain(self._document)

    def check(self) -> None:
        """Raise `ValueError` if the schema is invalid, names an unknown draft, or refers to another document."""
        try:
            reason = self._evaluate(_import_evaluation().find_invalidity)
        except CallFailed as error:
            raise ValueError(f"the schema cannot be checked ({_lower_first(error)})") from None
        if reason is not None:
            raise ValueError(reason)

    def find_objection(self, value: Any) -> str | None:
        """Return why a value does not match, as a short sentence, or None if it does."""
        try:
            reason: str | None = self._evaluate(_import_evaluation().find_objection, value)
        except CallFailed as error:
            return f"they cannot be checked ({_lower_first(error)})"
        return reason

    def sample(self, words: Sequence[str], rng: random.Random) -> dict[str, Any]:
        """Return a random matching object. Its texts consist of `words` where the schema allows it.

        If no match is found within the limits, the object may violate the schema."""
        source = rng if self.is_plain else random.Random(rng.getrandbits(64))
        try:
            return self._evaluate(_import_evaluation().sample_object, words, source)
        except CallFailed:
            return {}

    def _evaluate(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function of `gymposium.tasks.tools.evaluation` on the schema, within the limits.

        Raises `CallFailed` beyond them."""
        if self.is_plain:
            return function(self._text, *arguments)
        if self._late >= _MOST_LATE:
            raise CallFailed(f"The schema took more than {SECONDS:g} s {_MOST_LATE} times.")
        try:
            return _CHECKER.call(function, self._text, *arguments)
        except CallFailed as error:
            self._late += 1
            raise CallFailed(f"The schema takes more than {SECONDS:g} s or too much memory.") from error


def _import_evaluation() -> Any:
    """Import and return the module that needs `jsonschema`."""
    try:
        from gymposium.tasks.tools import evaluation
    except ModuleNotFoundError as error:
        raise MissingExtra("gymposium's support for worlds", "'gymposium[worlds]'") from error
    return evaluation


def _lower_first(error: CallFailed) -> str:
    text = str(error).rstrip(".")
    return text[0].lower() + text[1:]


def _is_plain(schema: Any) -> bool:
    """Return whether a schema is small and has no references, patterns or other slow keywords."""
    count, level = 0, [schema]
    for _ in range(_DEEPEST_PLAIN):
        below: list[Any] = []
        for one in level:
            if isinstance(one, Mapping):
                if not all(_is_plain_keyword(key, value) for key, value in one.items()):
                    return False
                below += _list_subschemas(one)
            elif not isinstance(one, bool):
                return False
        count += len(below)
        if count > _MOST_PLAIN:
            return False
        if not below:
            return True
        level = below
    return False


def _is_plain_keyword(key: str, value: Any) -> bool:
    match key:
        case "properties":
            return isinstance(value, Mapping)
        case "anyOf" | "oneOf":
            return isinstance(value, list | tuple)
        case "items" | "additionalProperties":
            return isinstance(value, Mapping | bool)
        case "minLength" | "minItems" | "minProperties":
            return isinstance(value, int | float) and value <= _MOST_REQUIRED
    return key in _ANNOTATIONS


def _list_subschemas(schema: Mapping[str, Any]) -> Iterator[Any]:
    yield from schema.get("properties", {}).values()
    for key in ("anyOf", "oneOf"):
        yield from schema.get(key, ())
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield schema[key]
