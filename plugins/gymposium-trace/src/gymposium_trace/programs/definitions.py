"""Definitions above the main part of a program: functions, and in higher grades recursion, classes and more."""

from __future__ import annotations

from collections.abc import Callable

from gymposium.util.streams import Draw
from gymposium_trace.programs.expressions import Expressions
from gymposium_trace.programs.statements import Statements
from gymposium_trace.programs.writer import Function, Kind, Scope, Writer

_NAMES = "mix adjust measure combine shift fold weigh blend rank settle trim".split()
_PARAMETERS: dict[Kind, str] = {
    "int": "a b c k low high",
    "str": "s t prefix suffix",
    "ints": "items data series",
    "words": "names lines",
    "counts": "table",
}


def define(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a definition of this grade, and add its function to the scope."""
    makers: list[Callable[[Writer, Scope, int, Draw], None]] = [_function]
    if difficulty >= 4:
        makers += [_number_recursion, _list_recursion, _pair_recursion, _guarded]
    if difficulty >= 5:
        makers += [_class, _subclass, _generator, _closure, _manager] * 2
    writer.gap()
    draw.pick(makers)(writer, scope, difficulty, draw)


def _function(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a function of one to three parameters, with a few statements and a result."""
    kinds: tuple[Kind, ...] = ("int", "str", "ints") if difficulty >= 2 else ("int", "str")
    takes: tuple[Kind, ...] = ("int", *draw.some(kinds, draw.between(0, 2)))
    inner_names = Scope()
    parameters = [(inner_names.free(_PARAMETERS[kind].split(), draw), kind) for kind in takes]
    name = scope.free(_NAMES, draw)
    inner = scope.inner(dict(parameters))
    gives: Kind = draw.pick(("int", "int", "str"))
    listed = [parameter for parameter, _ in parameters]
    if difficulty >= 4 and takes[-1] == "int" and draw.chance(0.5):
        listed[-1] += f"={draw.between(1, 5)}"
        takes = takes[:-1] if draw.chance(0.5) and len(takes) > 1 else takes
    with writer.block(f"def {name}({', '.join(listed)}):"):
        body = Statements(writer, inner, min(difficulty, 3), draw, prints=draw.chance(0.3))
        expressions = Expressions(inner, difficulty, draw)
        body.some(draw.between(1, 2))
        if difficulty >= 4:
            with writer.block(f"if {expressions.condition()}:"):
                writer.line(f"return {expressions.write(gives, 1)}")
        writer.line(f"return {expressions.write(gives)}")
    scope.functions.append(Function(name, takes, gives))


def _number_recursion(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a recursion on a decreasing number."""
    name = scope.free(["descend", "halve", "digits", "climb"], draw)
    step = draw.pick([f"n // {draw.between(2, 4)}", f"n - {draw.between(2, 5)}"])
    with writer.block(f"def {name}(n):"):
        with writer.block(f"if n < {draw.between(2, 4)}:"):
            writer.line(f"return {draw.pick(['n', '1', str(draw.between(2, 9))])}")
        if draw.chance(0.5):
            with writer.block(f"if n % {draw.between(2, 4)} == 0:"):
                writer.line(f"return {name}({step}) {draw.pick('+-')} {draw.between(1, 7)}")
        writer.line(f"return {draw.pick(['n', f'n % {draw.between(3, 7)}', '1'])} + {name}({step})")
    # limits the depth for any number of the main part
    cap = scope.free([f"{name}_from"], draw)
    writer.gap()
    with writer.block(f"def {cap}(value):"):
        writer.line(f"return {name}(abs(value) % {draw.between(15, 40)})")
    scope.functions.append(Function(cap, ("int",), "int"))


def _list_recursion(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a recursion on a shrinking list."""
    name = scope.free(["walk", "gather", "reduce_list", "unroll"], draw)
    rest = draw.pick(["items[1:]", "items[:-1]", "items[2:]"])
    one = draw.pick(["items[0]", "items[-1]"])
    with writer.block(f"def {name}(items, depth=0):"):
        with writer.block("if not items:"):
            writer.line(draw.pick(["return depth", "return 0", f"return {draw.between(1, 9)}"]))
        with writer.block(f"if {one} % {draw.between(2, 3)} == {draw.between(0, 1)}:"):
            writer.line(f"return {name}({rest}, depth + {draw.between(1, 2)})")
        writer.line(f"return {one} {draw.pick('+-')} {name}({rest}, depth)")
    scope.functions.append(Function(name, ("ints",), "int"))


def _pair_recursion(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a recursion on two strings or two numbers."""
    if draw.chance(0.5):
        name = scope.free(["weave", "zigzag", "braid"], draw)
        with writer.block(f"def {name}(s, t):"):
            with writer.block("if not s or not t:"):
                writer.line(f"return {draw.pick(['s + t', 't + s', 's or t'])}")
            writer.line(f"return {draw.pick(['s[0] + t[0]', 't[0] + s[-1]', 's[-1]'])} + {name}(t[1:], s[1:])")
        scope.functions.append(Function(name, ("str", "str"), "str"))
        return
    name = scope.free(["paths", "grid", "choose"], draw)
    with writer.block(f"def {name}(a, b):"):
        with writer.block("if a <= 0 or b <= 0:"):
            writer.line(f"return {draw.between(1, 2)}")
        writer.line(f"return {name}(a - 1, b) + {name}(a{draw.pick(['', ' - 1'])}, b - {draw.between(1, 2)})")
    cap = scope.free([f"count_{name}"], draw)
    writer.gap()
    with writer.block(f"def {cap}(x, y):"):
        writer.line(f"return {name}(abs(x) % {draw.between(2, 4)}, abs(y) % {draw.between(2, 4)})")
    scope.functions.append(Function(cap, ("int", "int"), "int"))


def _guarded(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a function that raises, and one that catches the exception."""
    check = scope.free(["check", "demand", "verify"], draw)
    name = scope.free(["safe", "careful", "guarded"], draw)
    error = draw.pick(["ValueError", "KeyError", "RuntimeError"])
    with writer.block(f"def {check}(value):"):
        with writer.block(f"if value % {draw.between(2, 5)} == {draw.between(0, 1)}:"):
            writer.line(f"raise {error}(value)")
        writer.line(f"return value {draw.pick('+-*')} {draw.between(2, 9)}")
    writer.gap()
    with writer.block(f"def {name}(value, other={draw.between(-3, 3)}):"):
        with writer.block("try:"):
            writer.line(f"result = {check}(value)")
        with writer.block(f"except {error} as problem:"):
            writer.line(draw.pick(["result = problem.args[0] + other", "return other"]))
        if draw.chance(0.5):
            with writer.block("finally:"):
                writer.line(f'print("{draw.pick(["checked", "looked at", "done with"])}", value)')
        writer.line(f"return result {draw.pick('+-')} other")
    scope.functions.append(Function(name, ("int",), "int"))


def _class(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a class that stores a number, and a function that uses an instance."""
    kind = scope.free(["Account", "Meter", "Robot", "Basket"], draw)
    up = draw.pick(["add", "take", "feed"])
    limit = draw.between(10, 40)
    with writer.block(f"class {kind}:"):
        writer.line(f"limit = {limit}")
        writer.line("made = 0")
        writer.line("")
        with writer.block("def __init__(self, level):"):
            writer.line(f"self.level = level % {draw.between(9, 30)}")
            writer.line("self.log = []")
            writer.line(f"{kind}.made += 1")
        writer.line("")
        with writer.block(f"def {up}(self, amount):"):
            with writer.block("if self.level + amount > self.limit:"):
                writer.line(f"self.log.append({draw.pick(['self.level', 'amount', '-1'])})")
                writer.line(f"self.level = {draw.pick(['self.limit', 'self.level // 2', '0'])}")
            with writer.block("else:"):
                writer.line("self.level += amount")
            writer.line(f"return {draw.pick(['self', 'self'])}")
    name = scope.free(["fill", "operate", "drive"], draw)
    writer.gap()
    with writer.block(f"def {name}(start, amounts):"):
        writer.line(f"thing = {kind}(start)")
        with writer.block("for amount in amounts:"):
            writer.line(f"thing.{up}(amount){draw.pick(['', f'.{up}({draw.between(1, 5)})'])}")
        writer.line("print(thing.level, thing.log)")
        writer.line(f"return thing.level + {draw.pick(['len(thing.log)', f'{kind}.made', 'thing.limit'])}")
    scope.functions.append(Function(name, ("int", "ints"), "int"))


def _subclass(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a class, and a subclass that overrides a method."""
    base, child = scope.free(["Shape", "Animal", "Tool"], draw), scope.free(["Square", "Bird", "Hammer"], draw)
    with writer.block(f"class {base}:"):
        with writer.block("def __init__(self, size):"):
            writer.line("self.size = size")
        writer.line("")
        with writer.block("def value(self):"):
            writer.line(f"return self.size {draw.pick('+-*')} {draw.between(2, 6)}")
        writer.line("")
        with writer.block("def describe(self):"):
            writer.line('return f"{type(self).__name__}:{self.value()}"')
    writer.gap()
    with writer.block(f"class {child}({base}):"):
        if draw.chance(0.5):
            with writer.block("def __init__(self, size):"):
                writer.line(f"super().__init__(size {draw.pick('+-')} {draw.between(1, 5)})")
            writer.line("")
        with writer.block("def value(self):"):
            writer.line(f"return super().value() {draw.pick(['%', '-', '//'])} {draw.between(2, 7)}")
    name = scope.free(["portray", "present", "survey"], draw)
    writer.gap()
    with writer.block(f"def {name}(sizes):"):
        writer.line("told = []")
        with writer.block("for size in sizes:"):
            writer.line(f"maker = {base} if size % {draw.between(2, 3)} == {draw.between(0, 1)} else {child}")
            writer.line("told.append(maker(size).describe())")
        writer.line(f'return "{draw.pick(" ,/")}".join(told)')
    scope.functions.append(Function(name, ("ints",), "str"))


def _generator(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a generator, and a function that consumes it."""
    source, name = scope.free(["stream", "stepping", "waves"], draw), scope.free(["drain", "sample_of", "listen"], draw)
    with writer.block(f"def {source}(start, stop):"):
        writer.line("current = start")
        with writer.block("while current < stop:"):
            value = draw.pick(["current", f"current * {draw.between(2, 3)}", f"current % {draw.between(3, 7)}"])
            writer.line(f"received = yield {value}")
            writer.line(f"current += {draw.between(1, 4)} if received is None else received")
        writer.line("yield -1")
    writer.gap()
    with writer.block(f"def {name}(start):"):
        writer.line(f"start = abs(start) % {draw.between(5, 12)}")
        writer.line(f"source = {source}(start, start + {draw.between(6, 14)})")
        writer.line("total = next(source)")
        if draw.chance(0.5):
            writer.line(f"total += source.send({draw.between(1, 5)})")
        with writer.block("for got in source:"):
            writer.line(f"total = total {draw.pick('+-')} got")
        writer.line("return total")
    scope.functions.append(Function(name, ("int",), "int"))


def _closure(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a function that returns a closure with state."""
    maker = scope.free(["make_counter", "make_filter", "make_adder"], draw)
    name = scope.free(["tick", "press", "ping"], draw)
    with writer.block(f"def {maker}(start, step):"):
        writer.line("calls = 0")
        writer.line("")
        with writer.block("def counter(amount=1):"):
            writer.line("nonlocal calls, start")
            writer.line("calls += 1")
            writer.line(f"start = start + step * amount {draw.pick('+-')} calls")
            with writer.block(f"if calls % {draw.between(2, 3)} == 0:"):
                writer.line(f"start //= {draw.between(2, 3)}")
            writer.line("return start")
        writer.line("")
        writer.line("return counter")
    writer.gap()
    writer.line(f"{name} = {maker}({draw.between(0, 9)}, {draw.between(1, 6)})")
    scope.functions.append(Function(name, ("int",), "int"))


def _manager(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a context manager, and a function that uses it."""
    kind, name = scope.free(["Section", "Guard", "Session"], draw), scope.free(["visit", "enter", "inspect"], draw)
    swallows = draw.pick(["True", "False", "kind is ZeroDivisionError"])
    with writer.block(f"class {kind}:"):
        with writer.block("def __init__(self, label):"):
            writer.line("self.label = label")
            writer.line("self.notes = []")
        writer.line("")
        with writer.block("def __enter__(self):"):
            writer.line('print("enter", self.label)')
            writer.line("return self")
        writer.line("")
        with writer.block("def __exit__(self, kind, error, trace):"):
            writer.line('print("leave", self.label, len(self.notes), kind is None)')
            writer.line(f"return {swallows}")
    writer.gap()
    divisor = draw.between(2, 6)
    with writer.block(f"def {name}(label, items):"):
        writer.line(f"total = {draw.between(0, 9)}")
        within = writer.block(f"with {kind}(label) as section:")
        with writer.block("try:"), within, writer.block("for item in items:"):
            writer.line("section.notes.append(item)")
            writer.line(f"total += {draw.between(20, 60)} // (item % {divisor})")
        with writer.block("except ZeroDivisionError:"):
            writer.line(f"total = -total {draw.pick('+-')} {draw.between(1, 9)}")
        writer.line("return total")
    scope.functions.append(Function(name, ("str", "ints"), "int"))
