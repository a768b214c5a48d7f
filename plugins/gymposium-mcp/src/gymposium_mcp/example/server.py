"""A small MCP server with notes about a harbor, over standard input and output."""

from __future__ import annotations

from typing import Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

NOTES = {
    "lighthouse": "The lighthouse Grenholm was built in 1871. The tower is 96 feet high. Its keeper lived nearby.",
    "cottage": "The keeper's cottage has four rooms. Since 1994 it has been the museum of the harbour.",
    "museum": "The museum keeps the ship's bell of the Aurora and the first lamp of the lighthouse.",
    "aurora": "The Aurora was a barque of 540 tons. She sank two miles off the harbour in 1889; all 17 on board lived.",
    "ferry": "The ferry to Lund runs four times a day. The crossing is 7 miles long and takes 40 minutes.",
    "mole": "The mole is 450 yards long. It was rebuilt after the storm of 1921, which sank 11 boats.",
    "lifeboat": "The lifeboat station was founded in the year after the Aurora sank. Its first boat weighed 3 tons.",
    "market": "The fish market opens at 5 in the morning. On a good day 12 tons of herring are sold there.",
}
UNITS = {"feet": 0.3048, "metres": 1.0, "yards": 0.9144, "miles": 1609.344, "kilometres": 1000.0}

Unit = Literal["feet", "metres", "yards", "miles", "kilometres"]

server = MCPServer("harbour")


@server.tool()
def search(word: str) -> list[str]:
    """List the titles of the notes in which a word occurs."""
    return [title for title, note in NOTES.items() if word.lower() in f"{title} {note}".lower()]


@server.tool()
def read(title: str) -> str:
    """Read the note with this title."""
    if title not in NOTES:
        raise ToolError(f"There is no note {title!r}.")
    return NOTES[title]


@server.tool()
def convert(value: float, unit: Unit, to: Unit) -> float:
    """Convert a length from one unit to another, rounded to two decimals."""
    return round(value * UNITS[unit] / UNITS[to], 2)


@server.tool()
def erase(title: str) -> str:
    """Erase a note. (The example does not offer this tool.)"""
    return NOTES.pop(title)


if __name__ == "__main__":
    server.run()
