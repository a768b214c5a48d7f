"""A server tool's result as the player reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gymposium.tasks import Result
from gymposium.util.visible import is_encodable

LARGEST_VALUE = 20_000
"""Maximum number of characters of a recorded structured result, as JSON."""

_PLACEHOLDERS = {
    "image": "The tool returned an image, which cannot be shown.",
    "audio": "The tool returned audio, which cannot be shown.",
    "resource": "The tool returned binary data, which cannot be shown.",
    "resource_link": "The tool returned a link to a resource, which cannot be opened.",
}


def parse_result(answer: Mapping[str, Any]) -> Result:
    """Return the result in the raw answer to a call: `content`, `structuredContent`, `isError`.

    Text blocks become the result's text. Each other block becomes a line that names its type; an answer with only such
    blocks is an error. The structured part is recorded if its JSON has at most `LARGEST_VALUE` characters, and shown if
    there are no blocks."""
    texts, shown = [], False
    for block in answer.get("content", ()):
        text = block.get("text") if block["type"] == "text" else block.get("resource", {}).get("text")
        shown = shown or text is not None
        texts.append(
            _PLACEHOLDERS.get(block["type"], "The tool returned something that cannot be shown.")
            if text is None
            else text
        )
    structured = answer.get("structuredContent")
    if not texts:
        shown = True
        texts = ["The tool returned nothing." if structured is None else json.dumps(structured, ensure_ascii=False)]
    return Result("\n".join(texts), bool(answer.get("isError")) or not shown, _drop_unrecordable(structured))


def _drop_unrecordable(value: Any) -> Any:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return value if len(text) <= LARGEST_VALUE and is_encodable(text) else None
