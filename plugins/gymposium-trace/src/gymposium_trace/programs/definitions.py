"""Definitions above a program's main part: functions, and in higher grades also recursion, classes and more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

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


def write_definition(writer: Writer, scope: Scope, difficulty: int, draw: Draw) -> None:
    """Write a definition of this grade, and add its function to the scope."""
    makers: list[Callable[[Writer, Scope, Draw], None]] = [partial(_write_function, difficulty=difficulty)]
    if difficulty >= 4:
        makers += [_write_number_recursion, _write_list_recursion, _write_pair_recursion, _write_raising_function]
    if difficulty >= 5:
        makers += [_write_class, _write_subclass, _write_generator, _write_closure, _write_context_manager] * 2
    writer.add_gap()
    draw.pick(makers)(writer, scope, draw)


def _write_function(writer: Writer, scope: Scope, draw: Draw, difficulty: int) -> None:
    """Write a function of one to three parameters, with a few statements and a result."""
    kinds: tuple[Kind, ...] = ("int", "str", "ints") if difficulty >= 2 else ("int", "str")
    takes: tuple[Kind, ...] = ("int", *draw.some(kinds, draw.between(0, 2)))
    inner_names = Scope()
    parameters = [(inner_names.pick_free_name(_PARAMETERS[kind].split(), draw), kind) for kind in takes]
    name = scope.pick_free_name(_NAMES, draw)
    inner = scope.make_inner(dict(parameters))
    gives: Kind = draw.pick(("int", "int", "str"))
    listed = [parameter for parameter, _ in parameters]
    if difficulty >= 4 and takes[-1] == "int" and draw.chance(0.5):
        listed[-1] += f"={draw.between(1, 5)}"
        takes = takes[:-1] if draw.chance(0.5) and len(takes) > 1 else takes
    with writer.open_block(f"def {name}({', '.join(listed)}):"):
        body = Statements(writer, inner, min(difficulty, 3), draw, prints=draw.chance(0.3))
        expressions = Expressions(inner, difficulty, draw)
        body.write_some(draw.between(1, 2))
        if difficulty >= 4:
            with writer.open_block(f"if {expressions.write_condition()}:"):
                writer.add_line(f"return {expressions.write(gives, 1)}")
        writer.add_line(f"return {expressions.write(gives)}")
    scope.functions.append(Function(name, takes, gives))


def _write_number_recursion(writer: Writer, scope: Scope, draw: Draw) -> None:
    """Write a recursion on a decreasing number."""
    name = scope.pick_free_name(["descend", "halve", "digits", "climb"], draw)
    step = draw.pick([f"n // {draw.between(2, 4)}", f"n - {draw.between(2, 5)}"])
    with writer.open_block(f"def {name}(n):"):
        with writer.open_block(f"if n < {draw.between(2, 4)}:"):
            writer.add_line(f"return {draw.pick(['n', '1', str(draw.between(2, 9))])}")
        if draw.chance(0.5):
            with writer.open_block(f"if n % {draw.between(2, 4)} == 0:"):
                writer.add_line(f"return {name}({step}) {draw.pick('+-')} {draw.between(1, 7)}")
        writer.add_line(f"return {draw.pick(['n', f'n % {draw.between(3, 7)}', '1'])} + {name}({step})")
    # limits the depth for any number of the main part
    cap = scope.pick_free_name([f"{name}_from"], draw)
    writer.add_gap()
    with writer.open_block(f"def {cap}(value):"):
        writer.add_line(f"return {name}(abs(value) % {draw.between(15, 40)})")
    scope.functions.append(Function(cap, ("int",), "int"))


def _write_list_recursion(writer: Writer, scope: Scope, draw: Draw) -> None:
    """Write a recursion on a shrinking list."""
    name = scope.pick_free_name(["walk", "gather", "reduce_list", "unroll"], draw)
    rest = draw.pick(["items[1:]", "items[:-1]", "items[2:]"])
    one = draw.pick(["items[0]", "items[-1]"])
    with writer.open_block(f"def {name}(items, depth=0):"):
        with writer.open_block("if not items:"):
            writer.add_line(draw.pick(["return depth", "return 0", f"return {draw.between(1, 9)}"]))
        with writer.open_block(f"if {one} % {draw.between(2, 3)} == {draw.between(0, 1)}:"):
            writer.add_line(f"return {name}({rest}, depth + {draw.between(1, 2)})")
        writer.add_line(f"return {one} {draw.pick('+-')} {name}({rest}, depth)")
    scope.functions.append(Function(name, ("ints",), "int"))


def _write_pair_recursion(writer: Writer, scope: Scope, draw: Draw) -> None:
    """Write a recursion on two strings or two numbers."""
    if draw.chance(0.5):
        name = scope.pick_free_name(["weave", "zigzag", "braid"], draw)
        with writer.open_block(f"def {name}(s, t):"):
            with writer.open_block("if not s or not t:"):
                writer.add_line(f"return {draw.pick(['s + t', 't + s', 's or t'])}")
            writer.add_line(f"return {draw.pick(['s[0] + t[0]', 't[0] + s[-1]', 's[-1]'])} + {name}(t[1:], s[1:])")
        scope.functions.append(Function(name, ("str", "str"), "str"))
        return
    name = scope.pick_free_name(["paths", "grid", "choose"], draw)
    with writer.open_block(f"def {name}(a, b):"):
        with writer.open_block("if a <= 0 or b <= 0:"):
            writer.add_line(f"return {draw.between(1, 2)}")
        writer.add_line(f"return {name}(a - 1, b) + {name}(a{draw.pick(['', ' - 1'])}, b - {draw.between(1, 2)})")
    cap = scope.pick_free_name([f"count_{name}"], draw)
    writer.add_gap()
    with writer.open_block(f"def {cap}(x, y):"):
        writer.add_line(f"return {name}(abs(x) % {draw.between(2, 4)}, abs(y) % {draw.between(2, 4)})")
    scope.functions.append(Function(cap, ("int", "int"), "int"))


def _write_raising_function(writer: Writer, scope: Scope, draw: Draw) -> None:
    """Write a function that raises an exception, and another that catches it."""
    check = scope.pick_free_name(["check", "demand", "verify"], draw)
    name = scope.pick_free_name(["safe", "careful", "guarded"], draw)
    error = draw.pick(["ValueError", "KeyError", "RuntimeError"])
    with writer.open_block(f"def {check}(value):"):
        with writer.open_block(f"if value % {draw.between(2, 5)} == {draw.between(0, 1)}:"):
            writer.add_line(f"raise {error}(value)")
        writer.add_line(f"return value {draw.pick('+-*')} {draw.between(2, 9)}")
    writer.add_gap()
    with writer.open_block(f"def {name}(value, other={draw.between(-3, 3)}):"):
        with writer.open_block("try:"):
            writer.add_line(f"result = {check}(value)")
        with writer.open_block(f"except {error} as problem:"):
            writer.add_line(draw.pick(["result = problem.args[0] + other", "return other"]))
        if draw.chance(0.5):
            with writer.open_block("finally:"):
                writer.add_line(f'print("{draw.pick(["checked", "looked at", "done with"])}", value)')
        writer.add_line(f"return result {draw.pick('+-')} other")
    scope.functions.append(Function(name, ("int",), "int"))


def _write_class(writer: Writer, scope: Scope, draw: Draw) -> None:
    """Write a class that stores a number, and a function that uses an instance."""
    kind = scope.pick_free_name(["Account", "Meter", "Robot", "Basket"], draw)
    up = draw.pick(["add", "take", "feed"])
    limit = draw.between(10, 40)
    with writer.open_block(f"class {kind}:"):
        writer.add_line(f"limit = {limit}")
        writer.add_line("made = 0")
        writer.add_line("")
        with writer.open_block("def __init__(self, level):"):
            writer.add_line(f"self.level = level % {draw.between(9, 30)}")
            writer.add_line("self.log = []")
            writer.add_line(f"{kind}.made += 1")
        writer.add_line("")
        with writer.open_block(f"def {up}(self, amount):"):
            with writer.open_block("if self.level + amount > self.limit:"):
                writer.add_line(f"self.log.append({draw.pick(['self.level', 'amount', '-1'])})")
                writer.add_line(f"self.level = {draw.pick(['self.limit', 'self.level // 2', '0'])}")
            with writer.open_block("else:"):
                writer.add_line("self.level += amount")
            writer.add_line(f"return {draw.pick(['self', 'self'])}")
    name = scope.pick_free_name(["fill", "operate", "drive"], draw)
    writer.add_gap()
    with writer.open_block(f"def {name}(start, amounts):"):
        writer.add_line(f"thing = {kind}(start)")
        with writer.open_block("for amount in amounts:"):
            writer.add_line(f"thing.{up}(amount){draw.pick(['', f'.{up}({draw.between(1, 5)})'])}")
        writer.add_line("print(thing.level, thing.log)")
        writer.add_line(f"return thing.level + {draw.pick(['len(thing.log)', f'{kind}.made', 'thing.limit'])}")
    scope.functions.append(Function(name, ("int", "ints"), "int"))


def _write_subclass(writer: Writer, scope: Scope, draw: Draw) -> None:
    """Write a class, and a subclass that overrides a method."""
    base, child = (
        scope.pick_free_name(["Shape", "Animal", "Tool"], draw),
        scope.pick_free_name(["Square", "Bird", "Hammer"], draw),
    )
    with writer.open_block(f"class {base}:"):
        with writer.open_block("def __init__(self, size):"):
            writer.add_line("self.size = size")
        writer.add_line("")
        with writer.open_block("def value(self):"):
            writer.add_line(f"return self.size {draw.pick('+-*')} {draw.between(2, 6)}")
        writer.add_line("")
        with writer.open_block("def describe(self):"):
            writer.add_line('return f"{type(self).__name__}:{self.value()}"')
    writer.add_gap()
    with writer.open_block(f"class {child}({base}):"):
        if draw.chance(0.5):
            with writer.open_block("def __init__(self, size):"):
                writer.add_line(f"super().__init__(size {draw.pick('+-')} {draw.between(1, 5)})")
            writer.add_line("")
        with writer.open_block("def value(self):"):
            writer.add_line(f"return super().value() {draw.pick(['%', '-', '//'])} {draw.between(2, 7)}")
    name = scope.pick_free_name(["portray", "present", "survey"], draw)
    writer.add_gap()
    with writer.open_block(f"def {name}(sizes):"):
        writer.add_line("told = []")
        with writer.open_block("for size in sizes:"):
            writer.add_line(f"maker = {base} if size % {draw.between(2, 3)} == {draw.between(0, 1)} else {child}")
            writer.add_line("told.append(maker(size).describe())")
        writer.add_line(f'return "{draw.pick(" ,/")}".join(told)')
    scope.functions.append(Function(name, ("ints",), "str"))


def _write_generator(writer: Writer, scope: Scope, draw: Draw) -> None:
    """Write a generator, and a function that consumes it."""
    source, name = (
        scope.pick_free_name(["stream", "stepping", "waves"], draw),
        scope.pick_free_name(["drain", "sample_of", "listen"], draw),
    )
    with writer.open_block(f"def {source}(start, stop):"):
        writer.add_line("current = start")
        with writer.open_block("while current < stop:"):
            value = draw.pick(["current", f"current * {draw.between(2, 3)}", f"current % {draw.between(3, 7)}"])
            writer.add_line(f"received = yield {value}")
            writer.add_line(f"current += {draw.between(1, 4)} if received is None else received")
        writer.add_line("yield -1")
    writer.add_gap()
    with writer.open_block(f"def {name}(start):"):
        writer.add_line(f"start = abs(start) % {draw.between(5, 12)}")
        writer.add_line(f"source = {source}(start, start + {draw.between(6, 14)})")
        writer.add_line("total = next(source)")
        if draw.chance(0.5):
            writer.add_line(f"total += source.send({draw.between(1, 5)})")
        with writer.open_block("for got in source:"):
            writer.add_line(f"total = total {draw.pick('+-')} got")
        writer.add_line("return total")
    scope.functions.append(Function(name, ("int",), "int"))


def _write_closure(writer: Writer, scope: Scope, draw: Draw) -> None:
    """Write a function that returns a closure with state."""
    maker = scope.pick_free_name(["make_counter", "make_filter", "make_adder"], draw)
    name = scope.pick_free_name(["tick", "press", "ping"], draw)
    with writer.open_block(f"def {maker}(start, step):"):
        writer.add_line("calls = 0")
        writer.add_line("")
        with writer.open_block("def counter(amount=1):"):
            writer.add_line("nonlocal calls, start")
            writer.add_line("calls += 1")
            writer.add_line(f"start = start + step * amount {draw.pick('+-')} calls")
            with writer.open_block(f"if calls % {draw.between(2, 3)} == 0:"):
                writer.add_line(f"start //= {draw.between(2, 3)}")
            writer.add_line("return start")
        writer.add_line("")
        writer.add_line("return counter")
    writer.add_gap()
    writer.add_line(f"{name} = {maker}({draw.between(0, 9)}, {draw.between(1, 6)})")
    scope.functions.append(Function(name, ("int",), "int"))


def _write_context_manager(writer: Writer, scope: Scope, draw: Draw) -> None:
    """Write a context manager, and a function that uses it."""
    kind, name = (
        scope.pick_free_name(["Section", "Guard", "Session"], draw),
        scope.pick_free_name(["visit", "enter", "inspect"], draw),
    )
    swallows = draw.pick(["True", "False", "kind is ZeroDivisionError"])
    with writer.open_block(f"class {kind}:"):
        with writer.open_block("def __init__(self, label):"):
            writer.add_line("self.label = label")
            writer.add_line("self.notes = []")
        writer.add_line("")
        with writer.open_block("def __enter__(self):"):
            writer.add_line('print("enter", self.label)')
            writer.add_line("return self")
        writer.add_line("")
        with writer.open_block("def __exit__(self, kind, error, trace):"):
            writer.add_line('print("leave", self.label, len(self.notes), kind is None)')
            writer.add_line(f"return {swallows}")
    writer.add_gap()
    divisor = draw.between(2, 6)
    with writer.open_block(f"def {name}(label, items):"):
        writer.add_line(f"total = {draw.between(0, 9)}")
        within = writer.open_block(f"with {kind}(label) as section:")
        with writer.open_block("try:"), within, writer.open_block("for item in items:"):
            writer.add_line("section.notes.append(item)")
            writer.add_line(f"total += {draw.between(20, 60)} // (item % {divisor})")
        with writer.open_block("except ZeroDivisionError:"):
            writer.add_line(f"total = -total {draw.pick('+-')} {draw.between(1, 9)}")
        writer.add_line("return total")
    scope.functions.append(Function(name, ("str", "ints"), "int"))
