"""Tools in prompts: required arguments are named if a call could omit others."""

from __future__ import annotations

import pytest

from gymposium.tasks.tools import Tool
from gymposium.tasks.tools.wording import describe_tools


@pytest.mark.parametrize(
    ("required", "full", "compact"),
    [
        (["a"], "  Required: a\n", "t(a, b?)"),
        (["a", "b"], "", "t(a, b)"),
        ([], "", "t(a, b)"),
        (["a", "c"], "  Required: a, c\n", "t(a, b?, c)"),
    ],
)
def test_required_and_optional_arguments_are_distinguished(required: list[str], full: str, compact: str) -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": required}
    tool = Tool("t", "Do.", schema)
    assert describe_tools([tool], "compact") == f"{compact}\n"
    shown = '- t: Do.\n  Arguments: {"a": {}, "b": {}}\n' + full + "A call is one line of JSON"
    assert shown in describe_tools([tool], "full")
