"""The reference for training settings, generated from their JSON schema when the site is built."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gymposium_train.config.defaults import PRETRAINED
from gymposium_train.config.schema import (
    Node,
    describe_values,
    list_properties,
    list_variants,
    load_schema,
    resolve_node,
)

HERE = "<!-- settings -->"
"""Marker in the page that is replaced by the tables."""


def tables() -> str:
    """Return all settings as Markdown, with a heading and a table for each config table."""
    return "\n".join(_table("", load_schema()))


def _table(name: str, node: Node) -> Iterator[str]:
    """Yield the Markdown of a config table and its nested tables. A union has a section for each kind."""
    settings, below = {}, {}
    for key, found in list_properties(node, {"kind": None}).items():
        entry = (
            resolve_node(resolve_node(found)["items"])
            if resolve_node(found).get("type") == "array"
            else resolve_node(found)
        )
        (below if {"properties", "oneOf"} & entry.keys() else settings)[key] = resolve_node(found)
    path = f"{name}." if name else ""
    if settings:
        yield f"## {_heading(name)}\n"
        if name:
            yield f"{_text(node)}\n"
        yield from _rows(path, settings)
    for kind, variant in list_variants(node).items():
        own = {key: found for key, found in variant["properties"].items() if key != "kind"}
        plain_ones = {key: resolve_node(found) for key, found in own.items() if "properties" not in resolve_node(found)}
        yield f'### `{path}kind = "{kind}"`\n'
        yield f"{_text(variant)}\n"
        if plain_ones:
            yield from _rows(path, plain_ones)
        below |= {key: resolve_node(found) for key, found in own.items() if key not in plain_ones}
    for key, found in below.items():
        if found.get("type") == "array":
            yield from _list(f"{path}{key}", found)
        else:
            yield from _table(f"{path}{key}", found)


def _rows(path: str, settings: dict[str, Node]) -> Iterator[str]:
    yield "| setting | default | values | description |\n|---|---|---|---|"
    for key, found in settings.items():
        default, values = _default(path + key, found), _cell(describe_values(found))
        yield f"| `{path}{key}` | {default} | {values} | {_cell(_text(found))} |"
    yield ""


def _list(name: str, node: Node) -> Iterator[str]:
    """Yield the Markdown of a list of tables, `[[stages]]` in TOML."""
    heading, *rest = _table(name, resolve_node(node["items"]))
    yield f"## `[[{name}]]`\n" if heading.startswith("## ") else heading
    yield f"{_text(node)} An entry is written `[[{name}]]` in a file and `{name}.0` on the command line:\n"
    yield from (line.replace(f"| `{name}.", f"| `{name}.0.") for line in rest)


def _heading(name: str) -> str:
    return f"`[{name}]`" if name else "The run"


def _text(node: Node) -> str:
    return " ".join(str(node.get("description", "")).split())


def _default(name: str, node: Node) -> str:
    """Return a setting's default, and the default for a pretrained model if it differs."""
    default: Any = node.get("default")
    if default is None:
        return "not set" if "default" in node else "required"
    pretrained = PRETRAINED.get(name, default)
    other = "" if pretrained == default else f"; pretrained: {_code(pretrained)}"
    return _code(default) + other


def _code(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
