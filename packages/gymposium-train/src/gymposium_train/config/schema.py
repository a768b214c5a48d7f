"""The config's own schema, walked by path: what a setting may be, in the same words for errors and for the reference.

Paths are tuples of names, with a number for an entry of a list: `("stages", 0, "promote")`, written `stages.0.promote`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from gymposium_train.config.whole import TrainConfig

Node = Mapping[str, Any]
"""The JSON schema of a setting or a table."""
Path = tuple[str | int, ...]


@cache
def whole() -> Node:
    """The JSON schema of `TrainConfig`, as pydantic makes it from types, ranges and docstrings."""
    return TrainConfig.model_json_schema()


def dotted(path: Path) -> str:
    """`stages.0.opponents."lm:tiny"`: as it is written on the command line."""
    return ".".join(_name(key) for key in path)


def _name(key: str | int) -> str:
    bare = isinstance(key, int) or (key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key))
    return str(key) if bare else json.dumps(key, ensure_ascii=False)


def plain(node: Node) -> Node:
    """The node without the ways round: a reference is followed, and of what may be left out the rest is looked at."""
    if "$ref" in node:
        found: Node = whole()["$defs"][node["$ref"].rpartition("/")[2]]
        return {**found, **{key: value for key, value in node.items() if key != "$ref"}}
    if "anyOf" in node:
        [given] = (one for one in node["anyOf"] if one.get("type") != "null")
        return {**plain(given), **{key: value for key, value in node.items() if key != "anyOf"}}
    return node


def inside(node: Node, key: str | int) -> Node | None:
    """What stands under a name in a table, or at a place in a list; None where nothing may."""
    node = plain(node)
    if node.get("type") == "array":
        return plain(node["items"])
    found = node.get("properties", {}).get(key)
    if found is None and isinstance(node.get("additionalProperties"), Mapping):
        found = node["additionalProperties"]
    return None if found is None else plain(found)


def at(path: Path) -> Node | None:
    """The node of a path; None where there is no such setting."""
    node: Node | None = whole()
    for key in path:
        node = None if node is None else inside(node, key)
    return node


def wanted(node: Node) -> str:
    """What may be given, in words: `a whole number, 1 or more`."""
    node = plain(node)
    if "enum" in node:
        *most, last = (str(one) for one in node["enum"])
        return f"one of {', '.join(most)} and {last}"
    if "const" in node:
        return str(node["const"])
    if node.get("type") == "array":
        entries = wanted(node["items"])
        return f"a list, each entry {entries}" + ("; at least one" if node.get("minItems") else "")
    if node.get("type") == "object":
        each = node.get("additionalProperties")
        entries = f" of names, each with {wanted(each)}" if isinstance(each, Mapping) else ""
        return f"a table{entries}" + ("; at least one" if node.get("minProperties") else "")
    return _KINDS[node["type"]] + _range(node)


_KINDS = {"integer": "a whole number", "number": "a number", "string": "text", "boolean": "true or false"}
_BOUNDS = (("minimum", "{} or more"), ("exclusiveMinimum", "above {}"), ("maximum", "{} or less"))


def _range(node: Node) -> str:
    bounds = [words.format(f"{node[key]:g}") for key, words in _BOUNDS if key in node]
    if "exclusiveMaximum" in node:
        bounds.append(f"below {node['exclusiveMaximum']:g}")
    return f", {' and '.join(bounds)}" if bounds else ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, as the reference shows it."""

    path: Path
    """With the number 0 for the entries of a list of tables."""
    node: Node

    @property
    def default(self) -> Any:
        """None where it is left out by default."""
        return self.node.get("default")


def settings(node: Node | None = None, path: Path = ()) -> Iterator[Setting]:
    """All settings that are no tables themselves, in the order of the schema."""
    for name, below in (whole() if node is None else node)["properties"].items():
        found, here = plain(below), (*path, name)
        entry = plain(found["items"]) if found.get("type") == "array" else found
        if "properties" in entry:
            yield from settings(entry, here if entry is found else (*here, 0))
        else:
            yield Setting(here, found)


def nearest(path: Path) -> str:
    """What somebody may have meant who wrote the path of a setting that does not exist, as the end of an error."""
    *table, name = path
    beside = sorted((at(tuple(table)) or {}).get("properties", {}))
    near = get_close_matches(str(name), beside, n=1, cutoff=0.6)
    if near:
        return _did_you_mean((*table, one) for one in near)
    by_name = {str(setting.path[-1]): None for setting in settings()}
    near = get_close_matches(str(name), by_name, n=1, cutoff=0.75)
    if near:
        return _did_you_mean(setting.path for setting in settings() if setting.path[-1] == near[0])
    return f"Known there: {', '.join(beside)}."


def _did_you_mean(paths: Iterator[Path] | Sequence[Path]) -> str:
    return f"Did you mean {' or '.join(dotted(path) for path in paths)}?"
