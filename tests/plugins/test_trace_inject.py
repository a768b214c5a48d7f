"""Debug prints do not change programs: they are inserted only where names are bound. These tests run programs in this
process, with and without debug prints, and compare the output without the lines of debug prints.
`test_trace_running.py` tests that the subprocess does the same."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import gymposium_trace
from gymposium.util.streams import Draw, stream
from gymposium_trace.bound import find_points
from gymposium_trace.inject import InjectionError, inject
from gymposium_trace.programs import GRADES, generate_program

DEBUG = (Path(gymposium_trace.__file__).parent / "dbg.py").read_text(encoding="utf-8")


def capture_output(text: str) -> str:
    """Return what a program prints, with `dbg` importable as in the subprocess. Raises what the program raises."""
    out = io.StringIO()
    before = sys.modules.get("dbg")
    with contextlib.redirect_stdout(out):
        module = sys.modules["dbg"] = ModuleType("dbg")
        try:
            exec(DEBUG, module.__dict__)
            exec(compile(text, "program.py", "exec", dont_inherit=True), {"__name__": "__main__"})
        finally:
            del sys.modules["dbg"]
            if before is not None:
                sys.modules["dbg"] = before
    return out.getvalue()


def strip_marks(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if not line.startswith("__DBG_")]


def assert_harmless(text: str, seed: int, count: int) -> str:
    """Check that the program with debug prints behaves as before. Returns it."""
    changed = inject(text, count, Draw(stream(seed, "prints")))
    assert strip_marks(capture_output(changed)) == strip_marks(capture_output(text)), changed
    return changed


NASTY = {
    "bound in one branch": """
import sys
if len(sys.argv) > 99:
    a = 1
else:
    b = 2
print("end")
""",
    "bound in both": """
if not []:
    a = 1
else:
    a = 2
print(a)
""",
    "elif": """
a = 1
if a == 2:
    b = 1
elif a == 1:
    c = 2
elif a == 3:
    b = 1
print("end")
""",
    "empty loop": """
for i in []:
    last = i
while False:
    never = 1
for j in range(3):
    k = j
print("end")
""",
    "loop with else": """
for i in [1, 2]:
    if i == 1:
        found = i
        break
else:
    missing = 1
while True:
    x = 1
    if x:
        y = 2
        break
    z = 3
print(y)
""",
    "del": """
a = 1
b = 2
del a
print(b)
a = 3
for i in range(2):
    c = i
    del c
(d, [e, *f]) = 1, [2, 3]
del (d, [e]), f
print("end")
""",
    "del in the loop of something before it": """
a = 1
first = True
for i in range(2):
    if first:
        del a
        first = False
print("end")
""",
    "local shadowing a global": """
total = 10
def f(n):
    if n:
        total = n
        return total
    print("none")
    total = 1
    return total
print(f(0), f(1))
""",
    "global and nonlocal that unbind": """
a = 1
def drop():
    global a
    del a
drop()
print("a is gone")
def outer():
    b = 2
    def inner():
        nonlocal b
        del b
    inner()
    print("b is gone")
outer()
def caught():
    global e
    try:
        raise ValueError
    except ValueError as e:
        pass
e = 5
caught()
print("e is gone")
""",
    "try": """
try:
    a = 1
    b = int("x")
    c = 3
except ValueError as error:
    d = 4
else:
    d = 5
finally:
    print("finally")
print("end")
""",
    "unbound before the exception": """
a = 1
try:
    del a
    raise ValueError
except ValueError:
    print("caught")
b = 1
try:
    try:
        del b
        raise ValueError
    finally:
        print("finally")
except ValueError:
    print("caught")
""",
    "leaving a handler": """
e = 0
for i in range(2):
    try:
        raise ValueError(i)
    except ValueError as e:
        if i:
            break
        continue
print("end")
""",
    "return through finally": """
def f():
    a = 1
    try:
        b = 2
        return b
    finally:
        del a
        print("out")
for i in range(1):
    x = 1
    try:
        break
    finally:
        del x
print(f())
""",
    "with that swallows": """
class Quiet:
    def __enter__(self):
        return self
    def __exit__(self, *stuff):
        return True
before = 1
with Quiet() as q, Quiet():
    a = 1
    del before
    raise ValueError
    b = 2
print("end")
with Quiet() as (x, y):
    print("never")
print("end")
""",
    "match": """
for thing in [(1, 2), [], "x", {"k": 3, "z": 4}]:
    match thing:
        case (a, b):
            print("pair")
        case {"k": value, **rest}:
            print("map")
        case str() as s if s == "y":
            print("y")
        case [*every]:
            print("list")
        case other:
            print("other")
print("end")
""",
    "comprehensions and walrus": """
squares = [n * n for n in range(3) if (last := n) > -1]
print(squares, [m for m in [] if (never := m)])
if False and (w := 1):
    pass
f = lambda arg: arg + 1
print(f(1))
""",
    "class bodies": '''
class A:
    """Doc."""
    x = 1
    if x > 5:
        y = 2
    def method(self, n=3):
        """Doc of the method."""
        __private = n
        return __private
    @property
    def trap(self):
        print("looked at")
        return 1
    @staticmethod
    def s(): return 4
    del x
a = A()
print(A.__doc__, A.method.__doc__, a.method(), A.s())
''',
    "from __future__": '''"""Docstring
of two lines."""
from __future__ import annotations
import math
x: int = 3
y: int
def f(a: Nowhere, /, b=1, *c, d, **e) -> "Nowhere":
    """Doc."""
    return a
print(f(x, d=1), __doc__)
''',
    "shadowed builtins": """
def f(print, repr, type, len, list):
    dbg = 5
    str = 6
    return dbg + str
type = 1
repr = len = int = list = dict = None
print(f(1, 2, 3, 4, 5))
""",
    "values that bite": """
class Bad:
    def __repr__(self):
        raise RuntimeError
    __str__ = __len__ = __eq__ = __iter__ = __bool__ = __repr__
    __hash__ = None
class Deceiver(dict):
    def values(self):
        raise RuntimeError
bad = Bad()
deceiver = Deceiver(a=1)
holds_bad = [1, (bad,)]
loop = []
loop.append(loop)
circle = {}
circle["me"] = circle
deep = 1
for i in range(50):
    deep = [deep]
huge = 10 ** 10000
many = list(range(100000))
half = chr(0xD800)
s = {3, 1, 2}
nan = float("nan")
gen = (1 for i in [1])
none = None
print(next(gen))
""",
    "standard output elsewhere": """
import contextlib, io
buffer = io.StringIO()
with contextlib.redirect_stdout(buffer):
    inside = 1
    print("caught")
    x = 2
print(repr(buffer.getvalue()))
""",
    "one-line suites and semicolons": """
a = 1; b = 2
if a: c = 3; d = 4
else: e = 5
for i in range(2): f = i
while a: a = 0; g = 1
def h(x): y = x; return y
class C: z = 1; w = 2
try: k = 1
finally: m = 2
print(a, b, \\
      h(3)) ; n = 6
o = \"\"\"two
lines; # no comment\"\"\" # comment
p = (1,
     2)
print(o, p)
""",
    "comments and blank lines": """
# a comment
def f(x):
    # first

    # second
    y = x
        # oddly far in

    return y

# last
print(f(1))
# end""",
    "decorators, generators, recursion": """
import functools
@functools.lru_cache(
    maxsize=None)
def fib(n):
    if n < 2:
        return n
    a = fib(n - 1)
    return a + fib(n - 2)
def gen(n):
    for i in range(n):
        got = yield i
    return got
async def co():
    x = 1
    async def inner():
        return x
    return await inner()
print(fib(8), list(gen(3)))
import asyncio
print(asyncio.run(co()))
""",
    "looks into itself": """
before = sorted(globals())
a = 1
print([n for n in sorted(globals()) if n not in ("before", "a")] == [n for n in before])
exec("del a")
print("end")
""",
    "names of its own like ours": """
def dbg(*x):
    print("mine", x)
dbg_2 = 3
dbg("__DBG_0__", 1)
print(dbg_2)
""",
    "imports inside": """
def f():
    import os.path as p, sys
    from math import pi as tau, e
    x = 1
    del p
    return tau > x
print(f())
""",
}


NOTHING_SAFE = {"global and nonlocal that unbind", "looks into itself"}


@pytest.mark.parametrize("name", NASTY)
def test_tricky_programs_are_unchanged(name: str) -> None:
    text = NASTY[name]
    for seed in range(30):
        assert_harmless(text, seed, count=1 + seed % 5)
    everywhere = assert_harmless(text, 0, count=1000)
    assert ("__DBG_" in everywhere) == (name not in NOTHING_SAFE)


@pytest.mark.parametrize(
    "grade", [pytest.param(grade, marks=() if grade in GRADES[:2] else pytest.mark.slow) for grade in GRADES]
)
def test_generated_programs_are_unchanged(grade: int) -> None:
    for seed in range(60):
        assert_harmless(generate_program(grade, Draw(stream(seed, "program"))), seed, count=(1000, 4)[seed % 2])


class Tangle:
    """Generator of programs with nothing but control flow: names bound and unbound in every kind of block, with random
    branches."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.lines, self.functions = draw, ["state = 12345", FLIP], 0

    def text(self) -> str:
        self.block(0, loop=False, inside=False, depth=0, here=[])
        return "\n".join([*self.lines, 'print("end")', ""])

    def name(self) -> str:
        return self.draw.pick("abcd")

    def add(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def block(self, indent: int, *, loop: bool, inside: bool, depth: int, here: list[str]) -> None:
        for _ in range(self.draw.between(1, 3)):
            self.statement(indent, loop=loop, inside=inside, depth=depth, here=here)

    def statement(self, indent: int, *, loop: bool, inside: bool, depth: int, here: list[str]) -> None:
        """Write a statement. `loop`: a `break` is allowed. `inside`: in a function. `here`: the exceptions caught
        around it."""
        draw, add = self.draw, self.add
        deeper = (
            ["if", "ifelse", "for", "while", "try", "with", "match", "def", "class", "forever"] if depth < 3 else []
        )
        kind = draw.pick(["bind", "bind", "unbind", "leave", *deeper])
        below = {"loop": loop, "inside": inside, "depth": depth + 1, "here": here}
        if kind == "bind":
            add(indent, f"{self.name()} = {draw.below(9)}")
        elif kind == "unbind":
            name = self.name()
            add(indent, f"{name} = 0")
            add(indent, f"if flip(): del {name}" if draw.chance(0.5) else f"del {name}")
        elif kind == "leave":
            ways = ["pass"] + ["break", "continue"] * loop + ["return"] * inside + ["raise ValueError"] * bool(here)
            add(indent, f"if flip(): {draw.pick(ways)}" if draw.chance(0.7) else draw.pick(ways))
        elif kind in ("if", "ifelse"):
            add(indent, "if flip():")
            self.block(indent + 1, **below)
            if draw.chance(0.3):
                add(indent, "elif flip():")
                self.block(indent + 1, **below)
            if kind == "ifelse":
                add(indent, "else:")
                self.block(indent + 1, **below)
        elif kind == "for":
            add(indent, f"for {self.name()} in range(flip() + flip()):")
            self.loop(indent, below)
        elif kind == "while":
            add(indent, "while flip():")
            self.loop(indent, below)
        elif kind == "forever":
            add(indent, "while True:")
            add(indent + 1, "if flip() or flip(): break")
            self.block(indent + 1, **{**below, "loop": True})
        elif kind == "try":
            add(indent, "try:")
            self.block(indent + 1, **{**below, "here": [*here, "ValueError"]})
            add(indent, f"except ValueError as {self.name()}:" if draw.chance(0.7) else "except ValueError:")
            self.block(indent + 1, **below)
            if draw.chance(0.3):
                add(indent, "else:")
                self.block(indent + 1, **below)
            if draw.chance(0.5):
                add(indent, "finally:")
                self.block(indent + 1, **below)
        elif kind == "with":
            add(indent, f"with Maybe() as {self.name()}:")
            self.block(indent + 1, **{**below, "here": [*here, "ValueError"] if draw.chance(0.5) else here})
        elif kind == "match":
            add(indent, "match (flip(), flip()):")
            for pattern in draw.some(["(True, {0})", "(False, True) as {0}", "[{0}, False] if flip()"], 2):
                add(indent + 1, f"case {pattern.format(self.name())}:")
                self.block(indent + 2, **below)
            if draw.chance(0.5):
                add(indent + 1, f"case {draw.pick(['_', self.name()])}:")
                self.block(indent + 2, **below)
        elif kind == "class":
            add(indent, f"class K{len(self.lines)}:")
            self.block(indent + 1, loop=False, inside=False, depth=depth + 1, here=[])
        else:
            self.functions += 1
            name, declared = f"f{self.functions}", draw.pick(["", "", "global"])
            add(indent, f"def {name}({draw.pick(['', 'b', 'c, *d'])}):".replace("(b)", "(b=1)").replace("(c,", "(c=2,"))
            parameters = self.lines[-1]
            if declared and "a" not in parameters.split("(")[1]:
                add(indent + 1, "global a")
            self.block(indent + 1, loop=False, inside=True, depth=depth + 1, here=[])
            add(indent, f"{name}()")

    def loop(self, indent: int, below: dict[str, Any]) -> None:
        self.block(indent + 1, **{**below, "loop": True})
        if self.draw.chance(0.3):
            self.add(indent, "else:")
            self.block(indent + 1, **below)


FLIP = """
def flip():
    global state
    state = (state * 1103515245 + 12345) % 2147483648
    return state > 1200000000
class Maybe:
    def __enter__(self): return 1
    def __exit__(self, kind, error, trace): return True
"""


@pytest.mark.slow
@settings(max_examples=200)
@given(seed=st.integers(0, 2**64), prints=st.sampled_from([3, 1000]))
def test_no_path_reads_an_unbound_name(seed: int, prints: int) -> None:
    text = Tangle(Draw(stream(seed, "tangle"))).text()
    try:
        capture_output(text)
    except (NameError, ValueError):  # an error of the program's own, such as one raised through a `del`
        return
    assert_harmless(text, seed, prints)


def list_bound_names(text: str) -> dict[int, frozenset[str]]:
    """Return the names bound after the statements that end on each line."""
    return {point.statement.end_lineno or 0: point.bound for point in find_points(ast.parse(text)) if point.after}


def test_names_bound_on_every_path_are_found() -> None:
    """Names that are bound on every path are found."""
    found = list_bound_names(
        "if p():\n    a = 1\nelse:\n    a = 2\n"  # 4
        "while True:\n    b = 1\n    if p():\n        break\n"  # 8
        "try:\n    c = 1\nexcept E:\n    c = 2\nfinally:\n    d = 3\n"  # 14
        "match a:\n    case [e]:\n        f = e\n    case _:\n        f = 1\n"  # 19
        "with w() as g:\n    h = 1\n"  # 21
        "for i in a:\n    j = 1\n"  # 23
    )
    assert found[4] == {"a"}
    assert found[8] == {"a", "b"}
    assert found[14] == {"a", "b", "c", "d"}
    assert found[19] == {"a", "b", "c", "d", "f"}
    assert found[21] == found[23] == {"a", "b", "c", "d", "f"}  # what `with` swallows, a loop that does not run


def test_every_kind_of_block_is_instrumented() -> None:
    text = (
        "a = 1\nfor i in a:\n    b = 1\nwhile a:\n    c = 1\nif a:\n    d = 1\nwith a:\n    e = 1\n"
        "try:\n    f = 1\nexcept E:\n    g = 1\nfinally:\n    h = 1\n"
        "def fun(k):\n    m = 1\nclass C:\n    n = 1\nmatch a:\n    case 1:\n        o = 1\n"
    )
    shown = "".join(line for line in inject(text, 1000, Draw(stream(0, "x"))).splitlines() if "__DBG_" in line)
    for seed in range(1, 20):
        shown += "".join(line for line in inject(text, 1000, Draw(stream(seed, "x"))).splitlines() if "__DBG_" in line)
    for name in "abcdefghkmno":
        assert f", {name}" in shown, name


def test_marks_are_numbered_in_order() -> None:
    text = generate_program(3, Draw(stream(5, "program")))
    for count in (0, 1, 4, 7):
        changed = inject(text, count, Draw(stream(1, "prints")))
        marks = [line.split('"')[1] for line in changed.splitlines() if '"__DBG_' in line]
        assert marks == [f"__DBG_{number}__" for number in range(count)]
        for line in changed.splitlines():
            if "__DBG_" in line:
                assert 1 <= line.count(",") <= 3
    assert inject(text, 0, Draw(stream(1, "prints"))) == text


def test_remaining_text_is_unchanged() -> None:
    text = NASTY["comments and blank lines"].strip() + "\n"
    changed = inject(text, 1000, Draw(stream(0, "prints")))
    kept = [line for line in changed.splitlines() if "dbg" not in line]
    assert [line for line in kept if line] == [line for line in text.splitlines() if line]


def test_docstring_and_future_stay_first() -> None:
    lines = inject(NASTY["from __future__"], 4, Draw(stream(0, "prints"))).splitlines()
    assert lines.index("from dbg import dbg") == lines.index("from __future__ import annotations") + 1


@pytest.mark.parametrize(
    "text",
    [
        "x = ",
        "def f(:",
        "\0",
        "break",
        "return 1",
        "if a:\n    continue",
        "nonlocal x",
        "x = 1\n  y = 2",
        "(" * 5000,
        "-" * 100_000 + "1",
        "\ud800",
    ],
)
def test_invalid_python_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(InjectionError, match=r"not Python|too deep"):
        inject(text, 4, Draw(stream(0, "prints")))


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment", '"""only a docstring"""'])
def test_empty_programs_are_unchanged(text: str) -> None:
    assert inject(text, 4, Draw(stream(0, "prints"))) == text.rstrip() + "\n"


SHOWN = [
    ("15", "15"),
    ("-2.5", "-2.5"),
    ("'a b'", "'a b'"),
    ("[1, ('x', None), {'k': True}]", "[1, ('x', None), {'k': True}]"),
    ("{3, 1}", "set"),
    ("[{3, 1}]", "list"),
    ("range(3)", "range"),
    ("b'x'", "bytes"),
    ("'a' * 198", "'" + "a" * 198 + "'"),
    ("'a' * 199", "str"),
    ("[[[[1]]]]", "[[[[1]]]]"),
    ("[[[[[1]]]]]", "list"),
    ("10 ** 300", "int"),
    ("type('Own', (int,), {})(3)", "Own"),
    ("print", "builtin_function_or_method"),
]


@pytest.mark.parametrize(("value", "shown"), SHOWN)
def test_values_are_printed_as_documented(value: str, shown: str) -> None:
    assert capture_output(f"from dbg import dbg\ndbg('__DBG_0__', {value}, 1)") == f"__DBG_0__ {shown} 1\n"


@pytest.fixture(autouse=True)
def _no_dbg_left_behind() -> Iterator[None]:
    yield
    assert "dbg" not in sys.modules
