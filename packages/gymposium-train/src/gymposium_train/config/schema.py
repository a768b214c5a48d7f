"""The JSON schema of `TrainConfig`, looked up by path. Errors and the reference share its descriptions of allowed
values.

A path is a tuple of names, with numbers for list entries: `("stages", 0, "promote")`, written `stages.0.promote`. If a
table's settings depend on its `kind`, the config's data decide which settings exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from gymposium.plugins.host import host
from gymposium_train.config.root import TrainConfig

Node = Mapping[str, Any]
"""The JSON schema of a setting or a table."""
Path = tuple[str | int, ...]
"""The names that lead from the config to a setting or a table."""


def load_schema() -> Node:
    """Return the JSON schema of `TrainConfig`, generated from types, ranges and docstrings. Its unions include the
    kinds of all loaded plugins."""
    plugins = host()
    return _make_schema((*plugins.credits, *plugins.objectives, *plugins.engines, *plugins.sources, *plugins.backends))


@lru_cache(maxsize=1)
def _make_schema(kinds: tuple[str, ...]) -> Node:
    return TrainConfig.model_json_schema()


def format_path(path: Path) -> str:
    """Format a path for the command line: `stages.0.opponents."lm:tiny"`."""
    return ".".join(_format_name(key) for key in path)


def _format_name(key: str | int) -> str:
    bare = isinstance(key, int) or (key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key))
    return str(key) if bare else json.dumps(key, ensure_ascii=False)


def resolve_node(node: Node) -> Node:
    """Return the node with references resolved, and without the null type of an optional setting."""
    if "$ref" in node:
        target: Node = load_schema()["$defs"][node["$ref"].rpartition("/")[2]]
        return {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    if "anyOf" in node:
        options = [option for option in node["anyOf"] if option.get("type") != "null"]
        rest = {key: value for key, value in node.items() if key != "anyOf"}
        return {**resolve_node(options[0]), **rest} if len(options) == 1 else {"anyOf": options, **rest}
    return node


def list_variants(node: Node) -> dict[str, Node]:
    """Return the tables of a union by `kind`. Empty for a node that is not a union."""
    options = (resolve_node(option) for option in resolve_node(node).get("oneOf", ()))
    return {option["properties"]["kind"]["const"]: option for option in options}


def find_kind(node: Node, data: Any) -> Any:
    """Return the kind of a union's table, from its data or by default."""
    default: str = node["default"]["kind"]
    return data.get("kind", default) if isinstance(data, Mapping) else default


def list_properties(node: Node, data: Any = None) -> Mapping[str, Node]:
    """Return the settings of a table by name. For a union, these are the settings of the kind in `data`; `kind` accepts
    every kind."""
    node = resolve_node(node)
    if not (kinds := list_variants(node)):
        return {**node.get("properties", {})}
    description = next(iter(kinds.values()))["properties"]["kind"]["description"]
    kind = {"enum": [*kinds], "default": find_kind(node, None), "description": description}
    chosen = find_kind(node, data)
    return {**(kinds[chosen]["properties"] if chosen in kinds else {}), "kind": kind}


def find_child_node(node: Node, key: str | int, data: Any = None) -> Node | None:
    """Return the node of a setting in a table, or of a list entry. Returns None if it does not exist."""
    node = resolve_node(node)
    if node.get("type") == "array":
        return resolve_node(node["items"])
    below = list_properties(node, data).get(str(key))
    if below is None and isinstance(node.get("additionalProperties"), Mapping):
        below = node["additionalProperties"]
    return None if below is None else resolve_node(below)


def find_child_value(data: Any, key: str | int) -> Any:
    """Return the value of a setting in a table, or of a list entry. Returns None if it does not exist."""
    if isinstance(data, Mapping):
        return data.get(key)
    return data[key] if isinstance(data, list | tuple) and isinstance(key, int) and key < len(data) else None


def find_node(path: Path, data: Any = None) -> Node | None:
    """Return the node of a path in a config with these data, or None for an unknown setting."""
    node: Node | None = load_schema()
    for key in path:
        node = None if node is None else find_child_node(node, key, data)
        data = find_child_value(data, key)
    return node


def describe_values(node: Node) -> str:
    """Describe the values that a setting may have: `a whole number, 1 or more`."""
    node = resolve_node(node)
    if "anyOf" in node:
        return ", or ".join(describe_values(option) for option in node["anyOf"])
    if "enum" in node:
        *most, last = (str(value) for value in node["enum"])
        return f"one of {', '.join(most)} and {last}" if most else last
    if "const" in node:
        return str(node["const"])
    if node.get("type") == "array":
        entries = describe_values(node["items"])
        return f"a list, each entry {entries}" + ("; at least one" if node.get("minItems") else "")
    if node.get("type") == "object" or "oneOf" in node:
        each = node.get("additionalProperties")
        entries = f" of names, each with {describe_values(each)}" if isinstance(each, Mapping) else ""
        return f"a table{entries}" + ("; at least one" if node.get("minProperties") else "")
    return _KINDS[node["type"]] + _describe_range(node)


_KINDS = {"integer": "a whole number", "number": "a number", "string": "text", "boolean": "true or false"}
_BOUNDS = {
    "minimum": "{:g} or more",
    "exclusiveMinimum": "above {:g}",
    "maximum": "{:g} or less",
    "exclusiveMaximum": "below {:g}",
}


def _describe_range(node: Node) -> str:
    bounds = [words.format(node[key]) for key, words in _BOUNDS.items() if key in node]
    return f", {' and '.join(bounds)}" if bounds else ""


def list_settings(node: Node | None = None, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Yield all settings with their paths, including tables, in the order of the schema. A union has the settings of
    all its kinds. An entry in a list of tables has the number 0."""
    table = load_schema() if node is None else node
    for number, kind in enumerate([*list_variants(table)] or [""]):
        for name, schema in list_properties(table, {"kind": kind}).items():
            if number and name == "kind":
                continue  # all kinds share it
            setting, here = resolve_node(schema), (*path, name)
            yield here, setting
            entry = resolve_node(setting["items"]) if setting.get("type") == "array" else setting
            if "properties" in entry or "oneOf" in entry:
                yield from list_settings(entry, here if entry is setting else (*here, 0))


def suggest_paths(path: Path, data: Any = None) -> str:
    """Return a hint for an error about an unknown path: the settings that the user may have meant."""
    *table, name = path
    node, values = find_node(tuple(table), data) or {}, data
    for key in table:
        values = find_child_value(values, key)
    if others := [kind for kind, variant in list_variants(node).items() if name in variant["properties"]]:
        kind, mine = format_path((*table, "kind")), find_kind(resolve_node(node), values)
        choices = " or ".join(f"{kind}={other}" for other in others)
        return f"It belongs to {choices}, but {kind}={mine}. Omit it ({format_path(path)}=), or change {kind}."
    by_name: dict[str, dict[Path, None]] = {}
    for setting, _ in list_settings():
        by_name.setdefault(str(setting[-1]), {})[setting] = None
    siblings = sorted(list_properties(node, values))
    if name in by_name:
        meant = [*by_name[str(name)]]
    elif near := get_close_matches(str(name), siblings, n=1, cutoff=0.6):
        meant = [(*table, near[0])]
    elif near := get_close_matches(str(name), by_name, n=1, cutoff=0.75):
        meant = [*by_name[near[0]]]
    else:
        return f"Known settings: {', '.join(siblings)}."
    return f"Did you mean {' or '.join(map(format_path, meant))}?"
