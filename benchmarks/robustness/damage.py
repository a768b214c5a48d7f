"""Ways to damage a file or a message, as by attackers, full disks and transmission errors.

Each takes valid bytes and returns others. Those that leave something other than a regular file are in `IN_PLACE`.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

Way = Callable[[bytes, random.Random], bytes]

DEPTH = 100_000
"""Depth of nesting that no reader may follow."""
_HUGE = "9" * 400

ODD: tuple[str, ...] = (
    *("null", "true", "{}", "[]", '""', "0", "-0.0", "-1", "2", "0.5", "1e400", "-1e400", "NaN", "Infinity"),
    *(str(2**70), str(-(2**63)), _HUGE, f"-{_HUGE}", f"1e-{_HUGE}", '"\\ud800"', '"\\u0000"', '"<|im_end|>"'),
    *('"../../../../etc/passwd"', '"/dev/zero"', '"os:system"', '"http://127.0.0.1:9/"', '"file:///etc/passwd"'),
    *(f'"{"a" * 3_000_000}"', "[" * 40 + "]" * 40, f"[{'0,' * 200_000}0]", '{"a":1,"a":2}', '"__proto__"'),
    *("[" * DEPTH + "]" * DEPTH, '{"a":' * DEPTH + "1" + "}" * DEPTH),
)
"""JSON texts, and what looks like them, that take the place of a value."""

ODD_TOML: tuple[str, ...] = (
    *("true", "0", "-1", "nan", "inf", "-inf", str(2**70), _HUGE, "1e400", '""', '"\\u0000"', "[]", "{}", "[[], {}]"),
    *('"../../../../etc/passwd"', '"/dev/zero"', '"os:system"', '"http://127.0.0.1:9/"', "1979-05-27", '["a", 1]'),
    *("[" * DEPTH + "]" * DEPTH, "{a=" * DEPTH + "1" + "}" * DEPTH, f'"{"a" * 3_000_000}"', "a = b"),
)
"""Values of TOML, and what looks like them."""


def truncated(data: bytes, rng: random.Random) -> bytes:
    """Cut off the content at a random point."""
    return data[: rng.randrange(max(1, len(data)))]


def flipped(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes."""
    found = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 5, 50))):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def doubled(data: bytes, rng: random.Random) -> bytes:
    """Repeat a part of the content."""
    start = rng.randrange(max(1, len(data)))
    return data[:start] + data[rng.randrange(start + 1) :]


ANY: tuple[Way, ...] = (
    truncated,
    flipped,
    doubled,
    lambda data, rng: b"",
    lambda data, rng: rng.randbytes(5_000),
    lambda data, rng: b"\xef\xbb\xbf" + data,
    lambda data, rng: data.decode("utf-8", "replace").encode("utf-16"),
    lambda data, rng: data + b"\0" * 1_000,
    lambda data, rng: data + b"x" * 5_000_000,
    lambda data, rng: b"\n" * 1_000_000 + data,
)
"""Ways for files of every format."""


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from _places(one, (*way, key))


def _replaced(value: Any, way: Sequence[Any], by: Any) -> Any:
    if not way:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[way[0]] = _replaced(copy[way[0]], way[1:], by)
    return copy


def odd_json(text: str, rng: random.Random) -> str:
    """Change, duplicate, remove or add a value in a JSON text."""
    data = json.loads(text)
    way = rng.choice([*_places(data)])
    mark = "here is the place"
    marked = json.dumps(_replaced(data, way, mark))
    odd = rng.choice(ODD)
    if way and isinstance(way[-1], str) and rng.random() < 0.25:
        key = json.dumps(way[-1])
        return rng.choice((f"{key}: {odd}, {key}: 1", f'{key[:-1]}x": {odd}', f"{json.dumps('x' * 100_000)}: 1")).join(
            marked.split(f'{key}: "{mark}"', 1)
        )
    return marked.replace(f'"{mark}"', odd, 1)


def json_value(data: bytes, rng: random.Random) -> bytes:
    """Change a value of a JSON document."""
    return odd_json(data.decode(), rng).encode("utf-8", "surrogatepass")


def json_line(data: bytes, rng: random.Random) -> bytes:
    """Change a value in one line of JSON."""
    lines = data.decode().splitlines()
    number = rng.randrange(len(lines))
    lines[number] = odd_json(lines[number], rng)
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")


def toml_value(data: bytes, rng: random.Random) -> bytes:
    """Change or duplicate a value of a TOML document."""
    lines = data.decode().splitlines()
    with_value = [number for number, line in enumerate(lines) if re.match(r"\s*[\w.\"-]+\s*=", line)]
    number = rng.choice(with_value)
    key = lines[number].partition("=")[0]
    odd = f"{key}= {rng.choice(ODD_TOML)}"
    lines[number : number + 1] = [lines[number], odd] if rng.random() < 0.15 else [odd]
    return ("\n".join(lines) + "\n").encode()


def zip_member(data: bytes, rng: random.Random) -> bytes:
    """Return a zip with a member that is missing, changed, huge, hidden, or misnamed to escape the folder."""
    with zipfile.ZipFile(io.BytesIO(data)) as sound:
        members = [(info.filename, sound.read(info)) for info in sound.infolist()]
    number = rng.randrange(len(members))
    name, content = members[number]
    odd_name = rng.choice(("../../../../tmp/out", "/etc/passwd", "a" * 60_000, name, "", "con:\\x"))
    members[number : number + 1] = rng.choice(
        (
            [],
            [(name, flipped(content, rng))],
            [(name, truncated(content, rng))],
            [(name, b"\0" * 3_000_000_000)] if rng.random() < 0.1 else [(name, b"\0" * 300_000_000)],
            [(name, b"[" * DEPTH)],
            [(name, b"cos\nsystem\n(S'touch canary'\ntR.")],
            [(odd_name, content), (name, content)],
        )
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for one, text in members:
            archive.writestr(one or "empty", text)
    return made.getvalue()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(8_000_000_000)


IN_PLACE: tuple[Callable[[Path], object], ...] = (
    _pipe,
    _sparse,
    Path.mkdir,
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to(path.name),
    lambda path: path.symlink_to("nowhere"),
    lambda path: None,
)
"""What takes a file's place; the last leaves it out."""
