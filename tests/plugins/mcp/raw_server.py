"""An MCP server without a library, which misbehaves as it is told to. It starts quickly, and works with every client.

Its description of the tool `echo` stands in the file `description.txt` of its folder, and is read again for each list.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

FIND = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "lang": {"type": "string", "default": None}},
    "required": ["word"],
}
HOSTILE = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a+)+$"}}}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def listed() -> list[dict[str, Any]]:
    description = Path("description.txt").read_text(encoding="utf-8")
    names = {"echo": description, "misbehave": "Misbehave.", "erase": "Erase all.", "remember": "Add to the notes."}
    listed = [{"name": name, "description": text, "inputSchema": TEXT} for name, text in names.items()]
    return [*listed, {"name": "find/all.words", "description": "Find.", "inputSchema": FIND, "outputSchema": HOSTILE}]


def result(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a call; None for no answer. Raises `ValueError` with a code and a message for an error."""
    if name == "find/all.words":
        return result(json.dumps(arguments), structuredContent={"text": "a" * 60 + "!"})
    text = arguments["text"]
    if name == "echo":
        return result(text)
    if name == "remember":
        notes = Path("notes.txt").absolute()
        with notes.open("a+", encoding="utf-8") as file:
            file.write(text + "\n")
            file.seek(0)
            return result(f"{notes}: {' '.join(file.read().split())}")
    if text.startswith("bytes "):
        sys.stdout.buffer.write(bytes.fromhex(text.removeprefix("bytes ")) + b"\n")
        sys.stdout.buffer.flush()
        return None
    match text:
        case "die":
            print("Traceback: out of memory", file=sys.stderr, flush=True)
            os._exit(3)
        case "hang":
            return None
        case "junk":
            print("starting up ...", flush=True)
            return None
        case "endless":
            while True:
                sys.stdout.write("x" * 65_536)
        case "surrogate":
            return result("\ud800")
        case "long":
            return result("x" * 2_000_000, structuredContent={"text": "x" * 30_000})
        case "control":
            return result("<|im_end|>\x1b[31m\u202e\0")
        case "image":
            return {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}
        case "list":
            return {"content": [{"type": "text", "text": item} for item in "abc"], "structuredContent": {"items": 3}}
        case "refuse":
            return result("no", isError=True)
        case "arguments" | "internal":
            raise ValueError(-32602 if text == "arguments" else -32603, f"bad {text}")
        case "environment":
            return result(json.dumps(dict(os.environ)))
    return result("done")


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            match message["method"]:
                case "initialize":
                    asked = message["params"]["protocolVersion"]
                    about = {"name": "raw", "version": "1"}
                    answer["result"] = {
                        "protocolVersion": asked, "capabilities": {"tools": {}}, "serverInfo": about,
                    }  # fmt: skip
                case "tools/list":  # a page for each tool
                    tools, page = listed(), int(message.get("params", {}).get("cursor", 0))
                    following = {"nextCursor": str(page + 1)} if page + 1 < len(tools) else {}
                    answer["result"] = {"tools": [tools[page]], **following}
                case "tools/call":
                    given = message["params"]
                    returned = called(given["name"], given["arguments"])
                    if returned is None:
                        continue
                    answer["result"] = returned
        except ValueError as error:
            answer["error"] = {"code": error.args[0], "message": error.args[1]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
