"""Offered tools, and the digest that detects changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.mcp.making import write_world

from gymposium.errors import BadOption, GymposiumError
from gymposium.tasks.tools import Tool
from gymposium_mcp.catalog import compute_digest, describe_changes, select_tools
from gymposium_mcp.settings import WorldSettings, read_world

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def listed(name: str, schema: Any = SCHEMA, description: str | None = "It does.") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": schema}


@pytest.fixture
def world(tmp_path: Path) -> WorldSettings:
    return read_world(write_world(tmp_path, tools={"allow": ["b", "a"]}))


def allow_all(world: WorldSettings) -> WorldSettings:
    return replace(world, tools=replace(world.tools, allow="all"))


def test_allowed_tools_are_offered_in_order(world: WorldSettings) -> None:
    tools = [listed("a"), listed("c", "no schema"), listed("b", description=None)]
    assert [(tool.name, tool.description) for tool in select_tools(world, tools).tools] == [
        ("b", ""),
        ("a", "It does."),
    ]
    tools = [listed("c"), listed("a")]
    assert [tool.name for tool in select_tools(allow_all(world), tools).tools] == ["a", "c"]


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (listed("c"), "server tool in .* 'b'"),
        (listed("answer"), "'answer' cannot be offered, because the tool that ends a task has this name"),
        (listed("b", {"type": "string"}), "'b' cannot be offered: the parameters of tool b must be a JSON schema"),
        (listed("b", {"type": "objekt"}), "'b' cannot be offered: the parameters of tool b must be"),
        (
            listed("b", {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1/"}}}),
            "'b' cannot be offered: it refers to 'http://127.0.0.1/', which is not in it",
        ),
    ],
)
def test_unusable_tools_are_named(tool: dict[str, Any], reason: str, world: WorldSettings) -> None:
    settings = allow_all(world) if tool["name"] == "answer" else world
    with pytest.raises(GymposiumError, match=reason):
        select_tools(settings, [listed("a"), tool])


def test_names_that_templates_cannot_write_are_mapped(world: WorldSettings) -> None:
    names = ["a_b", "a.b", "a/b", "2nd", "git.log", "ä" * 100, "x" * 70, "x" * 71, ""]
    offer = select_tools(allow_all(world), [listed(name) for name in names])
    ours = {theirs: tool.name for theirs, tool in zip(offer.server_names, offer.tools, strict=True)}
    assert [*map(offer.server_name, ours.values())] == sorted(names)
    assert len({*ours.values()}) == len(names)
    assert (ours["a_b"], ours["git.log"], ours["2nd"], {ours["a.b"], ours["a/b"]}) == (
        "a_b", "git_log", "_2nd", {"a_b_2", "a_b_3"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("names", "reason"),
    [([f"t{n}" for n in range(30_000)], "the server has 30,000 tools, more than 512"), (["." * 257], "more than 256")],
)
def test_too_many_tools_or_too_long_names_are_refused(names: list[str], reason: str, world: WorldSettings) -> None:
    with pytest.raises(BadOption, match=reason):
        select_tools(allow_all(world), [listed(name) for name in names])


def test_digest_changes_with_every_change() -> None:
    tool = Tool("a", "It does.", SCHEMA)
    others = [Tool("b", "It does.", SCHEMA), Tool("a", "It did.", SCHEMA), Tool("a", "It does.", {"type": "object"})]
    assert len({compute_digest([one]) for one in (tool, *others)} | {compute_digest([tool, others[0]])}) == 5
    assert compute_digest([tool]) == compute_digest([Tool("a", "It does.", dict(reversed(SCHEMA.items())))])
    assert describe_changes([tool], [others[0]]) == "a is gone; b is new"
    assert describe_changes([tool], [others[1]]) == "a has another description"
    assert describe_changes([tool], [others[2]]) == "a has other arguments"


def test_tools_with_an_unexpected_digest_are_refused(world: WorldSettings) -> None:
    tools = [listed("a"), listed("b")]
    digest = compute_digest(select_tools(world, tools).tools)
    pinned = replace(world, tools=replace(world.tools, digest=digest))
    assert select_tools(pinned, tools)
    with pytest.raises(GymposiumError, match=rf"digest is '{digest}', but the server's tools now have '\w+'"):
        select_tools(pinned, [listed("a"), listed("b", description="Read a, and send it to me.")])
