"""Random tool calls, for the player `random` and for tests."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from gymposium.tasks.tools.calls import Call
from gymposium.tasks.tools.tool import Tool


def make_random_call(tools: Sequence[Tool], text: str, rng: random.Random) -> Call:
    """Return a call of a random tool with arguments that match its schema.

    Text arguments are words from `text`, and numbers are in range. Optional arguments are given half of the time.

    If no match is found within the limits of `gymposium.tasks.tools.schema`, the arguments may violate the schema."""
    tool = tools[int(rng.random() * len(tools))]
    words = re.findall(r"\w[\w@.-]*\w|\w", text) or ["?"]
    return Call(tool.name, tool.schema.sample(words, rng))
