"""Statements in the body of a program or function."""

from __future__ import annotations

from collections.abc import Callable

from gymposium.util.streams import Draw
from gymposium_trace.programs.expressions import Expressions
from gymposium_trace.programs.writer import Function, Kind, Scope, Writer

_KINDS: dict[int, tuple[Kind, ...]] = {
    1: ("int", "str"),
    2: ("int", "str", "ints", "words"),
    3: ("int", "str", "ints", "words", "counts"),
}
_DEEPEST = 2
"""Maximum depth of nested blocks."""


class Statements:
    """Generator of statements in one scope."""

    def __init__(self, writer: Writer, scope: Scope, difficulty: int, draw: Draw, *, prints: bool = True) -> None:
        self.writer, self.scope, self.difficulty, self.draw = writer, scope, difficulty, draw
        self.expressions = Expressions(scope, difficulty, draw)
        self.prints = prints
        self._depth = 0

    def write_start(self) -> None:
        """Write the first variables, and a call of each function."""
        self.writer.add_gap()
        for kind in ("int", *self.draw.some(_KINDS[min(self.difficulty, 3)], 1 + min(self.difficulty, 3))):
            self.assign(kind)
        for function in self.scope.functions:
            self.call(function)

    def call(self, function: Function) -> None:
        """Write a call of a function. `write_start` calls each one."""
        call = self.expressions.write_call(function, 1)
        if self.draw.chance(0.5):
            self.writer.add_line(f"print({call})")
        else:
            name = self.scope.take_name(function.gives, self.draw)
            self.writer.add_line(f"{name} = {call}")
            self.scope.add(name, function.gives)

    def write_some(self, count: int) -> None:
        """Write `count` statements. The first one has a form that is new in this grade."""
        for number in range(count):
            kinds = self._list_options()
            self.draw.pick(kinds[-1] if number == 0 else [write for group in kinds for write in group])()

    def write_end(self) -> None:
        """Write statements that print some variables."""
        shown = self.draw.some(list(self.scope.variables), 3)
        for name in shown[:-1]:
            self.writer.add_line(f"print({name})")
        self.writer.add_line(f'print(f"{shown[-1]}: {{{shown[-1]}}}")')

    def _list_options(self) -> list[list[Callable[[], None]]]:
        """Return the statements allowed here, by grade."""
        first: list[Callable[[], None]] = [self.change, self.assign_new]
        if self.prints:
            first.append(self.show)
        if self._depth < _DEEPEST:
            first += [self.branch, self.count_up]
        grades = [first]
        if self.difficulty >= 2:
            grades.append([self.loop_over, self.count_down] if self._depth < _DEEPEST else [self.assign_new])
            if self.scope.list_changeable("ints", "words"):
                grades[-1].append(self.extend)
        if self.difficulty >= 3:
            grades.append([self.tally, self.swap])
            if self._depth < _DEEPEST:
                grades[-1] += [self.loop_over_pairs, self.leave_early]
        if self.difficulty >= 4 and self._depth < _DEEPEST:
            grades.append([self.attempt, self.search, self.loop_until])
        if self.difficulty >= 5 and self._depth < _DEEPEST:
            grades.append([self.match])
        return grades

    def _write_block(self, head: str, count: int, *, loop: bool = False) -> None:
        """Write a block of `count` statements. Names bound in it are not used after it."""
        with self.writer.open_block(head):
            self.write_nested(lambda: self._fill_block(count), loop=loop)

    def write_nested(self, write: Callable[[], None], *, loop: bool = False) -> None:
        """Write statements that may not run, so names bound in them are not used afterwards."""
        before = dict(self.scope.variables)
        self._depth += 1
        self.scope.loops += loop
        write()
        self.scope.loops -= loop
        self._depth -= 1
        self.scope.variables = before

    def _fill_block(self, count: int) -> None:
        for _ in range(count):
            self.draw.pick([write for group in self._list_options() for write in group])()

    # -- grade 1

    def assign(self, kind: Kind) -> None:
        name = self.scope.take_name(kind, self.draw)
        depth = 2 if self.scope.variables else 0
        self.writer.add_line(f"{name} = {self.expressions.write(kind, depth)}")
        self.scope.add(name, kind)

    def assign_new(self) -> None:
        self.assign(self.draw.pick(_KINDS[min(self.difficulty, 3)]))

    def change(self) -> None:
        """Write a statement that assigns to an existing variable."""
        names = self.scope.list_changeable("int", "str")
        if not names:
            return self.assign("int")
        name, draw = self.draw.pick(names), self.draw
        if self.scope.variables[name] == "str":
            cut = draw.pick([f"[:{draw.between(4, 8)}]", f"[-{draw.between(4, 8)}:]"])
            return self.writer.add_line(f"{name} = ({name} + {self.expressions.write_string(1)}){cut}")
        if draw.chance(0.3):
            return self.writer.add_line(
                f"{name} = ({name} * {draw.between(2, 5)} + {self.expressions.write_number(1)}) % {draw.between(7, 50)}"
            )
        return self.writer.add_line(f"{name} {draw.pick('+-')}= {self._write_small_number()}")

    def _write_small_number(self) -> str:
        """Return a number that stays small inside a loop."""
        if self.scope.loops:
            return f"{self.expressions.write_term(1)} % {self.draw.between(5, 20)}"
        return self.expressions.write_number(1)

    def show(self) -> None:
        names = self.draw.some(list(self.scope.variables), self.draw.between(1, 2))
        if self.draw.chance(0.4):
            name = names[0]
            self.writer.add_line(f'print(f"{name} is {{{name}}}")')
        elif self.draw.chance(0.3):
            self.writer.add_line(f"print({self.expressions.write_number()})")
        else:
            self.writer.add_line(f"print({', '.join(names)})")

    def branch(self) -> None:
        self._write_block(f"if {self.expressions.write_condition()}:", self.draw.between(1, 2))
        if self.draw.chance(0.3):
            self._write_block(f"elif {self.expressions.write_condition()}:", 1)
        if self.draw.chance(0.6):
            self._write_block("else:", self.draw.between(1, 2))

    def count_up(self) -> None:
        draw = self.draw
        low, length, step = draw.between(0, 3), draw.between(2, 4), draw.pick([1, 1, 2, 3])
        forms = [f"{length + 1}"] if step == 1 else []
        forms.append(f"{low}, {low + length * step}" + (f", {step}" if step > 1 else ""))
        self._write_loop("int", "ijk", lambda name: f"for {name} in range({draw.pick(forms)}):")

    def _write_loop(self, kind: Kind, names: str, head: Callable[[str], str], over: str = "") -> None:
        """Write a `for` loop. Its body changes neither the loop variable nor the iterable."""
        name = self.scope.pick_free_name(names.split() if " " in names else list(names), self.draw)
        fixed = {name, over} - self.scope.fixed
        self.scope.fixed |= fixed

        def write_body() -> None:
            self.scope.add(name, kind)
            self._fill_block(self.draw.between(1, 3))

        with self.writer.open_block(head(name)):
            self.write_nested(write_body, loop=True)
        self.scope.fixed -= fixed
        self.scope.taken.discard(name)

    # -- grade 2

    def loop_over(self) -> None:
        names = self.scope.list_names("ints", "words")
        if not names:
            return self.count_up()
        over = self.draw.pick(names)
        if self.scope.variables[over] == "ints":
            return self._write_loop("int", "n m x y", lambda name: f"for {name} in {over}:", over)
        return self._write_loop("str", "w item piece entry", lambda name: f"for {name} in {over}:", over)

    def count_down(self) -> None:
        """Write a terminating `while` loop, with a counter that no other statement changes."""
        draw, scope = self.draw, self.scope
        name = scope.pick_free_name(["left", "countdown", "remaining", "fuel", "turns"], draw)
        step = draw.between(1, 4)
        self.writer.add_line(f"{name} = {draw.between(4, 9)}")
        scope.add(name, "int")
        scope.fixed.add(name)
        condition = f"{name} > {draw.between(0, 2)}"
        with self.writer.open_block(f"while {condition}:"):
            self.writer.add_line(draw.pick([f"{name} -= {step}", f"{name} = {name} // {step + 1}"]))
            self.write_nested(lambda: self._fill_block(draw.between(1, 2)), loop=True)

    def extend(self) -> None:
        name = self.draw.pick(self.scope.list_changeable("ints", "words"))
        one = (
            self.expressions.write_number(1)
            if self.scope.variables[name] == "ints"
            else self.expressions.write_string(1)
        )
        where = self.draw.pick([f"append({one})", f"insert({self.draw.between(0, 2)}, {one})"])
        self.writer.add_line(f"{name}.{where}")

    # -- grade 3

    def tally(self) -> None:
        names = self.scope.list_changeable("counts")
        if not names:
            return self.assign("counts")
        name, key = self.draw.pick(names), self.expressions.write_string(1)
        return self.writer.add_line(f"{name}[{key}] = {name}.get({key}, 0) + {self._write_small_number()}")

    def swap(self) -> None:
        names = self.scope.list_changeable("int")
        if len(names) < 2:
            return self.assign("int")
        one, other = self.draw.some(names, 2)
        return self.writer.add_line(f"{one}, {other} = {other}, {one} {self.draw.pick('+-')} {self.draw.between(1, 5)}")

    def loop_over_pairs(self) -> None:
        """Write a loop with two variables, over `enumerate` or the items of a dict."""
        scope, draw = self.scope, self.draw
        counts, lists = scope.list_names("counts"), scope.list_names("ints", "words")
        names: tuple[tuple[str, Kind], ...]
        if counts and (not lists or draw.chance(0.5)):
            over = draw.pick(counts)
            head, names = f"for key, value in {over}.items():", (("key", "str"), ("value", "int"))
        elif lists:
            over = draw.pick(lists)
            kind: Kind = "int" if scope.variables[over] == "ints" else "str"
            start = draw.pick(["", ", 1", ", 5"])
            head, names = f"for place, entry in enumerate({over}{start}):", (("place", "int"), ("entry", kind))
        else:
            return self.count_up()
        if scope.taken & {name for name, _ in names}:
            return self.count_up()
        fixed = {over, *(name for name, _ in names)} - scope.fixed
        scope.fixed |= fixed

        def write_body() -> None:
            for name, kind in names:
                scope.add(name, kind)
            self._fill_block(draw.between(1, 2))

        with self.writer.open_block(head):
            self.write_nested(write_body, loop=True)
        scope.fixed -= fixed
        scope.taken -= {name for name, _ in names}
        return None

    def leave_early(self) -> None:
        """Write a loop with `break` or `continue`."""
        draw = self.draw

        def write_body(name: str) -> None:
            self.scope.add(name, "int")
            with self.writer.open_block(f"if {self.expressions.write_condition()}:"):
                self.writer.add_line(draw.pick(["break", "continue"]))
            self._fill_block(draw.between(1, 2))

        name = self.scope.pick_free_name(list("abcpqr"), draw)
        self.scope.fixed.add(name)
        with self.writer.open_block(f"for {name} in range({draw.between(3, 6)}):"):
            self.write_nested(lambda: write_body(name), loop=True)
        if draw.chance(0.4):
            self._write_block("else:", 1)
        self.scope.fixed.discard(name)
        self.scope.taken.discard(name)

    # -- grade 4

    def attempt(self) -> None:
        """Write a `try` around an expression that may raise."""
        draw, scope = self.draw, self.scope
        divisor = f"({self.expressions.write_number(0)} - {draw.between(1, 9)})"
        choices = [("ZeroDivisionError", f"{self.expressions.write_term(1)} // {divisor}")]
        choices.append(("ValueError", f"int({self._write_doubtful_number()})"))
        if lists := scope.list_names("ints"):
            choices.append(("IndexError", f"{draw.pick(lists)}[{self.expressions.write_number(0)}]"))
        if tables := scope.list_names("counts"):
            choices.append(("KeyError", f"{draw.pick(tables)}[{self.expressions.write_string(0)}]"))
        error, risky = draw.pick(choices)
        name = draw.pick(scope.list_changeable("int")) if scope.list_changeable("int") else scope.take_name("int", draw)
        with self.writer.open_block("try:"):
            self.writer.add_line(f"{name} = {risky}")
            self.write_nested(lambda: self._fill_block(1))
        caught = f"({error}, TypeError)" if draw.chance(0.2) else error
        with self.writer.open_block(f"except {caught}:"):
            self.writer.add_line(f"{name} = {draw.between(-5, 5)}")
            self.write_nested(lambda: self._fill_block(1))
        if draw.chance(0.4):
            self._write_block("finally:" if draw.chance(0.6) else "else:", 1)
        scope.add(name, "int")

    def _write_doubtful_number(self) -> str:
        """Return a string expression whose value may or may not be a number."""
        number = f"str({self.expressions.write_number(0)})"
        return self.draw.pick([self.expressions.write_string(0), number, f'"{self.draw.between(2, 40)}"'])

    def search(self) -> None:
        """Write a `for … else` over a list."""
        if not (lists := self.scope.list_names("ints")):
            return self.assign("ints")
        draw = self.draw
        over = draw.pick(lists)
        name = self.scope.take_name("int", draw)
        condition = f"{name} {draw.pick(['>', '<', '=='])} {self.expressions.write_number(0)}"
        with self.writer.open_block(f"for {name} in {over}:"), self.writer.open_block(f"if {condition}:"):
            self.writer.add_line(f'print("found", {name})')
            self.writer.add_line("break")
        with self.writer.open_block("else:"):
            self.writer.add_line(f'print("none of", len({over}))')
        return None

    def loop_until(self) -> None:
        """Write a `while True` with an exit."""
        draw, scope = self.draw, self.scope
        name = scope.pick_free_name(["round_number", "tries", "ticks", "laps"], draw)
        self.writer.add_line(f"{name} = 0")
        scope.add(name, "int")
        scope.fixed.add(name)
        with self.writer.open_block("while True:"):
            self.writer.add_line(f"{name} += {draw.between(1, 3)}")
            with self.writer.open_block(f"if {name} > {draw.between(3, 5)}:"):
                self.writer.add_line("break")
            self.write_nested(lambda: self._fill_block(draw.between(1, 2)), loop=True)

    # -- grade 5

    def match(self) -> None:
        """Write a `match` on a number and a string."""
        draw = self.draw
        name = self.scope.pick_free_name(["case", "shape", "signal", "state"], draw)
        self.writer.add_line(f"{name} = ({self.expressions.write_term(1)} % 3, {self.expressions.write_string(0)})")
        size = self.scope.pick_free_name(["first", "head", "lead"], draw)
        with self.writer.open_block(f"match {name}:"):
            self._write_block("case (0, _):", 1)
            with self.writer.open_block(f"case ({size}, text) if len(text) > {draw.between(3, 6)}:"):
                self.writer.add_line(f"print({size}, text)")
                self.write_nested(lambda: self._fill_block(1))
            self._write_block("case _:", 1)
