"""Random values for a JSON schema.

`hypothesis-jsonschema` does not support the newer drafts, and `jsf` and `polyfactory` use the global random numbers. So
this module draws values from the caller's random stream. A value that does not match the schema is redrawn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from math import ceil, floor
from typing import Any

from gymposium.tasks.tools.merging import list_types, merge_schemas
from gymposium.tasks.tools.patterns import REPEATS, NoText, generate_text

_TRIES = 50
_BARE = 10
"""Number of tries before every second try omits optional parts."""
_STEPS = 2_000
"""Maximum number of schemas visited in one try."""
_ALL_STEPS = 10 * _STEPS
"""Maximum number of visited schemas before the last try begins."""
_DEEPEST = 12
_MOST = 1000
"""Maximum absolute value of a number without bounds."""
_LONGEST = 3
"""Maximum length of a list without an upper bound."""
_LARGEST = 10_000
"""Maximum length of a generated text or list."""
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_FORMATS = {
    "date": "2024-03-05",
    "time": "12:30:00Z",
    "date-time": "2024-03-05T12:30:00Z",
    "duration": "P1D",
    "email": "ann@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "url": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_HINTS = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties", "propertyNames"),
    "array": ("items", "prefixItems", "minItems", "contains", "uniqueItems"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""Keywords that reveal the type of a schema without `type`."""


_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
_DEPENDENT = ("dependentRequired", "dependentSchemas", "dependencies")
_PATTERN_TRIES = 20
"""Number of texts that one try generates for a pattern."""


class _NoValue(Exception):
    """Raised if no value was found for a schema."""


class ValueSampler:
    """A sampler of objects that match a schema. Their texts are made of given words."""

    def __init__(
        self,
        schema: Mapping[str, Any],
        resolve: Callable[[str], Mapping[str, Any] | bool | None],
        words: Sequence[str],
        rng: random.Random,
        *,
        lone_references: bool = False,
    ) -> None:
        """`resolve` returns the schema at a reference. With `lone_references`, keywords beside `$ref` are ignored, as
        in drafts before 2019-09."""
        self._schema, self._resolve, self._words, self._rng = schema, resolve, words, rng
        self._lone_references = lone_references
        self._steps = 0
        self._tried = 0

    def draw(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first object that matches, or the last object tried if none does."""
        drawn: dict[str, Any] = {}
        visited = 0
        for self._tried in range(_TRIES):
            visited += self._steps
            if visited >= _ALL_STEPS:
                break
            self._steps = 0
            try:
                value = self._draw_value(self._schema, 0)
            except (_NoValue, NoText, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                continue  # the schema has no value here, or points to a non-schema
            if isinstance(value, dict):
                drawn = value
                if fits(drawn):
                    break
        return drawn

    def _draw_value(self, schema: Any, depth: int) -> Any:
        flat = self._flatten(schema, depth)
        if "const" in flat:
            return flat["const"]
        if "enum" in flat:
            return self._pick(flat["enum"])
        types = list_types(flat) or _list_likely_types(flat)
        match types[0] if len(types) == 1 else self._pick(types):
            case "object":
                return self._draw_object(flat, depth)
            case "array":
                return self._draw_array(flat, depth)
            case "integer":
                return self._draw_number(flat, whole=True)
            case "number":
                return self._draw_number(flat, whole=False)
            case "boolean":
                return self._rng.random() < 0.5
            case "null":
                return None
        return self._draw_text(flat)

    def _flatten(self, schema: Any, depth: int) -> dict[str, Any]:
        """Return the schema with references and `allOf` resolved, and with one option drawn for each choice."""
        followed: set[str] = set()
        while True:
            self._steps += 1
            if schema is False or self._steps > _STEPS or depth > _DEEPEST:
                raise _NoValue
            if schema is True:
                return {}
            flat: dict[str, Any] = dict(schema)
            if keyword := next((one for one in REFERENCES if one in flat), None):
                reference = str(flat.pop(keyword))
                found = None if reference in followed else self._resolve(reference)
                followed.add(reference)  # a self-reference constrains nothing
                beside = True if self._lone_references and keyword == "$ref" else flat
                schema = merge_schemas(True if found is None else found, beside)
            elif "allOf" in flat:
                schema = reduce(merge_schemas, flat.pop("allOf"), flat)
            elif "const" in flat or "enum" in flat:
                return flat
            elif keyword := next((one for one in ("anyOf", "oneOf") if one in flat), None):
                schema = merge_schemas(flat, self._pick(flat.pop(keyword)))
            elif "if" in flat:
                condition, then, other = flat.pop("if"), flat.pop("then", True), flat.pop("else", True)
                chosen = merge_schemas(condition, then) if self._rng.random() < 0.5 else other
                schema = merge_schemas(flat, chosen)
            elif due := _find_missing_dependency(flat):
                keyword, name = due
                flat[keyword] = {**flat[keyword]}
                then = flat[keyword].pop(name)
                schema = merge_schemas(flat, {"required": then} if isinstance(then, list) else then)
            else:
                return flat

    def _draw_object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), [*schema.get("required", ())]
        least, most = schema.get("minProperties", 0), schema.get("maxProperties", _LARGEST)
        wanted = 0.0 if (depth > _DEEPEST // 2 or self._is_bare()) else 0.5
        made: dict[str, Any] = {}
        for name, one in properties.items():
            if name in required or (one is not False and wanted and self._rng.random() < wanted and len(made) < most):
                self._add(made, name, one, depth, needed=name in required)
        self._add_required(made, schema, [name for name in required if name not in made], depth)
        for name, one in properties.items():
            if len(made) < least and name not in made and one is not False:
                self._add(made, name, one, depth, needed=False)
        for _ in range(2 * min(least, _LARGEST)):
            if len(made) >= least:
                break
            name = self._draw_name(schema, depth)
            self._add(made, name, self._find_property_schema(schema, name), depth, needed=False)
        return made

    def _add_required(self, made: dict[str, Any], schema: Mapping[str, Any], needed: Iterable[str], depth: int) -> None:
        """Add required properties, including those that present ones require."""
        waiting = [*needed]
        dependent = {**schema.get("dependencies", {}), **schema.get("dependentRequired", {})}
        lists = [(name, others) for name, others in dependent.items() if isinstance(others, list)]
        while True:
            waiting += [other for name, others in lists if name in made for other in others if other not in made]
            if not waiting:
                return
            name = waiting.pop()
            if name not in made:
                self._add(made, name, self._find_property_schema(schema, name), depth, needed=True)

    def _add(self, made: dict[str, Any], name: str, schema: Any, depth: int, *, needed: bool) -> None:
        try:
            made[name] = self._draw_value(schema, depth + 1)
        except (_NoValue, NoText):
            if needed:
                raise

    def _find_property_schema(self, schema: Mapping[str, Any], name: str) -> Any:
        """Return the schema of a property, which need not be listed in `properties`."""
        if name in (properties := schema.get("properties", {})):
            return properties[name]
        patterns = schema.get("patternProperties", {})
        if patterns:
            return self._pick([*patterns.values()])
        rest = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
        return {"type": "string"} if rest is True else rest

    def _draw_name(self, schema: Mapping[str, Any], depth: int) -> str:
        """Return a name for an additional property."""
        if patterns := schema.get("patternProperties"):
            return generate_text(self._pick([*patterns]), self._rng)
        if "propertyNames" in schema:
            return str(self._draw_value(merge_schemas({"type": "string"}, schema["propertyNames"]), depth + 1))
        return f"{self._pick(self._words)}{int(self._rng.random() * _MOST)}"

    def _draw_array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        items = schema.get("items", True)
        prefix = [*schema.get("prefixItems", items if isinstance(items, list) else ())]
        rest = schema.get("additionalItems", True) if isinstance(items, list) else items
        if rest is True and not prefix:
            rest = {}
        ends = rest is False or (prefix and schema.get("unevaluatedItems", True) is False)
        least = schema.get("minItems", 0 if rest is False and not prefix else 1)
        contained = schema.get("minContains", 1) if "contains" in schema else 0
        least = max(least, contained)
        usual = len(prefix) if prefix else _LONGEST
        most = min(schema.get("maxItems", max(least, usual)), len(prefix) if ends else _LARGEST)
        count = self._draw_integer(min(least, most), most)
        made: list[Any] = []
        for at in range(min(count, _LARGEST)):
            one = prefix[at] if at < len(prefix) else rest
            if at >= count - contained:
                one = merge_schemas(one, schema["contains"])
            made.append(
                self._draw_new_value(one, made, depth)
                if schema.get("uniqueItems")
                else self._draw_value(one, depth + 1)
            )
        return made

    def _draw_new_value(self, schema: Any, made: Sequence[Any], depth: int) -> Any:
        """Return a value that differs from these, if one is found."""
        value = None
        for _ in range(10):
            value = self._draw_value(schema, depth + 1)
            if value not in made:
                break
        return value

    def _draw_number(self, schema: Mapping[str, Any], *, whole: bool) -> Any:
        low, high = self._find_bounds(schema)
        step = schema.get("multipleOf")
        if step is not None:
            first, last = ceil(low / step), floor(high / step)
            chosen = self._draw_integer(first, last) * step
            return int(chosen) if whole else chosen
        if whole:
            return self._draw_integer(ceil(low), floor(high))
        drawn = low + (high - low) * self._rng.random()
        near = round(drawn, 2)
        return near if low <= near <= high and self._tried < _BARE else drawn

    def _find_bounds(self, schema: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the minimum and maximum number. Draft 4 uses booleans for exclusive bounds."""
        low, high = schema.get("minimum"), schema.get("maximum")
        above, below = schema.get("exclusiveMinimum", False), schema.get("exclusiveMaximum", False)
        gap = 1 if "integer" in (list_types(schema) or ()) else 1e-6 if self._tried >= _BARE else 0.01
        if above is True and low is not None:
            low += gap
        elif above is not False and above is not True:
            low = above + gap if low is None else max(low, above + gap)
        if below is True and high is not None:
            high -= gap
        elif below is not False and below is not True:
            high = below - gap if high is None else min(high, below - gap)
        span = max(_MOST, schema.get("multipleOf", 0))
        if low is None:
            low = -span if high is None or high >= -span else high - span
        if high is None:
            high = span if low <= span else low + span
        return low, high

    def _draw_text(self, schema: Mapping[str, Any]) -> str:
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        if "pattern" in schema:
            with suppress(re.error):  # not in Python's dialect
                return self._draw_matching_text(schema["pattern"], least, _LARGEST if most is None else most)
        made = _FORMATS.get(schema.get("format", "")) or self._pick(self._words)
        while len(made) < min(least, _LARGEST):
            made += f" {self._pick(self._words)}"
        return str(made[:most])

    def _draw_matching_text(self, pattern: str, least: int, most: int) -> str:
        """Return a text that matches a pattern, with a length in this range if one is found."""
        made = ""
        for _ in range(_PATTERN_TRIES):
            made = generate_text(pattern, self._rng, max(REPEATS, least))
            if least <= len(made) <= most:
                break
        return made

    def _is_bare(self) -> bool:
        """Return whether this try omits optional parts."""
        return self._tried >= _BARE and self._tried % 2 == 0

    def _pick(self, values: Sequence[Any]) -> Any:
        if not values:
            raise _NoValue
        return values[int(self._rng.random() * len(values))]

    def _draw_integer(self, low: int, high: int) -> int:
        if high < low:
            raise _NoValue
        return low + int(self._rng.random() * (high - low + 1))


def _list_likely_types(schema: Mapping[str, Any]) -> Sequence[str]:
    """Return the likely value types of a schema without `type`, judging by its keywords. The default is text."""
    hinted = next((name for name, hints in _HINTS.items() if any(hint in schema for hint in hints)), None)
    if hinted is not None:
        return [hinted]
    if not isinstance(excluded := schema.get("not"), Mapping):
        return ["string"]
    without = list_types(excluded) or () if set(excluded) == {"type"} else ()
    return [name for name in _TYPES if name not in without and not (name == "integer" and "number" in without)]


def _find_missing_dependency(schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a dependency keyword and a required property that has dependencies under it, or None."""
    required = schema.get("required", ())
    pairs = ((keyword, name) for keyword in _DEPENDENT for name in schema.get(keyword, ()))
    return next((pair for pair in pairs if pair[1] in required), None)
