"""Tool results as text for the player."""

from __future__ import annotations

from typing import Any

import pytest

from gymposium.tasks import Result
from gymposium_mcp.results import parse_result

IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


def text(*items: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": item} for item in items]


def resource(**content: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "file:///a", **content}}


def error(text: str) -> Result:
    return Result(text, error=True)


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"content": text("a")}, Result("a")),
        ({"content": text("a", "b", "c")}, Result("a\nb\nc")),
        ({"content": text("no"), "isError": True}, error("no")),
        ({"content": [IMAGE]}, error("The tool returned an image, which cannot be shown.")),
        ({"content": [*text("a"), IMAGE]}, Result("a\nThe tool returned an image, which cannot be shown.")),
        ({"content": [resource(text="a")]}, Result("a")),
        ({"content": [resource(blob="AA")]}, error("The tool returned binary data, which cannot be shown.")),
        ({"content": [{"type": "audio"}]}, error("The tool returned audio, which cannot be shown.")),
        ({"content": [{"type": "new"}]}, error("The tool returned something that cannot be shown.")),
        ({"content": []}, Result("The tool returned nothing.")),
        ({"content": [], "structuredContent": {"result": []}}, Result('{"result": []}', value={"result": []})),
        ({"content": text("a"), "structuredContent": {"a": None}}, Result("a", value={"a": None})),
        ({"content": text("a"), "structuredContent": {"a": float("nan")}}, Result("a")),
        ({"content": text("a"), "structuredContent": {"a": "\ud800"}}, Result("a")),
        ({"content": text("a"), "structuredContent": {"a": "x" * 20_000}}, Result("a")),
    ],
)  # fmt: skip
def test_results_are_formatted_as_text(answer: dict[str, Any], result: Result) -> None:
    assert parse_result(answer) == result
