"""Data of exported pages, compressed, as scripts: from a disk, browsers load scripts but no other files."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from typing import Any


def packed(value: Any) -> str:
    """A script that holds a value, for `exported.js` to unpack."""
    data = zlib.compress(json.dumps(value, separators=(",", ":"), allow_nan=False).encode(), 9)
    return f'var gymposiumPacked = "{b64encode(data).decode("ascii")}";\n'
