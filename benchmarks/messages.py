"""Every message of an error, a warning or a failed command, with its place, to be read in one sitting.

A message is a text of several words that is raised, warned of, or passed to a function that returns or raises an error.
`{…}` stands for a value that is filled in.

    python -m benchmarks.messages                                # all packages and plugins
    python -m benchmarks.messages packages/gymposium-train       # those of one folder
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

TELLS = re.compile(
    r"(Error|Exception|Exit|Warning|Problem|Bad[A-Z]\w+|Unknown\w*|Not[A-Z]\w+|warn|warning|fail|refuse|error)$"
)
"""Names of the functions and classes that are given a message."""


def messages(file: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the receiving function or class, and the text of each message of a source file."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        raised = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(raised, ast.Call):
            continue
        name = ast.unparse(raised.func).rpartition(".")[2]
        if not isinstance(node, ast.Raise) and not TELLS.search(name):
            continue
        for given in [*raised.args, *(keyword.value for keyword in raised.keywords)]:
            text = _text(given)
            if text.count(" ") > 1:
                yield given.lineno, name, " ".join(text.split())


def _text(node: ast.expr) -> str:
    """Return the text of an expression, with `{…}` for its values, or an empty text if it has none."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(
                "{" + ast.unparse(value.value) + "}" if isinstance(value, ast.FormattedValue) else _text(value)
                for value in values
            )
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.IfExp(body=body, orelse=other):
            return f"{_text(body)} | {_text(other)}".strip(" |")
    return ""


def main() -> None:
    """Print all messages."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.messages", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, default=[Path("packages"), Path("plugins")])
    count = 0
    for folder in parser.parse_args().folders:
        for file in sorted(folder.rglob("src/**/*.py")):
            for line, name, text in sorted(set(messages(file))):
                print(f"{file}:{line}: {name}: {text}")
                count += 1
    print(f"{count:,} messages")


if __name__ == "__main__":
    main()
