"""Expressions of a given kind, built from the names in a scope.

No expression can raise, and no number grows without bound if a loop repeats the expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from gymposium.util.streams import Draw
from gymposium_trace.programs.writer import WORDS, Function, Kind, Scope

_ATOM = re.compile(r"""\w+(\.\w+)?(\([^()]*\)|\[[^\[\]]*\])?""")
"""Pattern of a name, a number, or one call or item without nested brackets."""


class Expressions:
    """Generator of expressions for one scope."""

    def __init__(self, scope: Scope, difficulty: int, draw: Draw) -> None:
        self.scope, self.difficulty, self.draw = scope, difficulty, draw

    def write(self, kind: Kind, depth: int = 2) -> str:
        return {
            "int": self.write_number,
            "str": self.write_string,
            "ints": self.write_numbers,
            "words": self.write_words,
            "counts": self.write_counts,
        }[kind](depth)

    def write_number(self, depth: int = 2) -> str:
        draw, scope = self.draw, self.scope
        if depth <= 0 or draw.chance(0.2):
            names = scope.list_names("int")
            return draw.pick(names) if names and draw.chance(0.75) else str(draw.between(1, 12))
        options: list[Callable[[], str]] = [
            lambda: f"{self.write_number(depth - 1)} + {self.write_number(depth - 1)}",
            lambda: f"{self.write_number(depth - 1)} - {self.write_term(depth - 1)}",
            lambda: f"{self.write_term(depth - 1)} * {draw.between(2, 4)}",
            lambda: f"{self.write_term(depth - 1)} // {draw.between(2, 5)}",
            lambda: f"{self.write_term(depth - 1)} % {draw.between(3, 9)}",
            lambda: f"{draw.pick(['max', 'min'])}({self.write_number(depth - 1)}, {self.write_number(depth - 1)})",
            lambda: f"abs({self.write_number(depth - 1)})",
        ]
        options += [
            partial(self._derive_number, name) for name in scope.list_names("str", "ints", "counts", "words")
        ] * 2
        return self._maybe_call("int", depth) or draw.pick(options)()

    def _derive_number(self, name: str) -> str:
        """Return an expression that computes a number from a string, list or dict."""
        draw, kind = self.draw, self.scope.variables[name]
        if kind == "str":
            return draw.pick([f"len({name})", f'{name}.count("{draw.pick("aeionlr")}")'])
        if kind == "words":
            return f"len({name}[{draw.pick([0, -1])}])"
        if kind == "counts":
            return draw.pick([f"{name}.get({self.write_string(0)}, {draw.between(0, 5)})", f"sum({name}.values())"])
        forms = [f"{name}[{draw.pick([0, -1])}]", f"{name}[{self.write_term(0)} % len({name})]"]
        return draw.pick([*forms, f"{draw.pick(['sum', 'max', 'min', 'len'])}({name})"])

    def write_term(self, depth: int) -> str:
        """Return a numeric expression, in parentheses if adjacent operators require them."""
        text = self.write_number(depth)
        return text if _ATOM.fullmatch(text) else f"({text})"

    def write_string(self, depth: int = 2) -> str:
        draw, scope = self.draw, self.scope
        if depth <= 0 or draw.chance(0.25):
            names = scope.list_names("str")
            return draw.pick(names) if names and draw.chance(0.7) else f'"{draw.pick(WORDS)}"'
        options: list[Callable[[], str]] = [
            lambda: f"{self.write_operand(depth - 1)}.upper()",
            lambda: f"{self.write_operand(depth - 1)}[::-1]",
            lambda: f"{self.write_operand(depth - 1)}[{draw.between(1, 2)}:]",
            lambda: f"{self.write_operand(depth - 1)}[:{draw.between(2, 4)}]",
            lambda: f'{self.write_operand(depth - 1)}.replace("{draw.pick("aeo")}", "{draw.pick("uyi")}")',
            lambda: f"str({self.write_number(depth - 1)})",
        ]
        if self.scope.loops == 0:
            options.append(lambda: f"{self.write_operand(depth - 1)} + {self.write_operand(depth - 1)}")
        options += [partial(self._derive_string, name) for name in scope.list_names("words")]
        return self._maybe_call("str", depth) or draw.pick(options)()

    def _derive_string(self, name: str) -> str:
        if self.scope.loops or self.draw.chance(0.5):
            return f"{name}[{self.write_term(0)} % len({name})]"
        return f'"{self.draw.pick("-+/ ")}".join({name})'

    def write_operand(self, depth: int) -> str:
        """Return a string expression, in parentheses if a method call requires them."""
        text = self.write_string(depth)
        return f"({text})" if " + " in text and not text.endswith(")") else text

    def write_numbers(self, depth: int = 2) -> str:
        draw = self.draw
        names = self.scope.list_names("ints")
        if names and draw.chance(0.5):
            name = draw.pick(names)
            forms = [f"sorted({name})", f"{name}[::-1]", f"{name} + [{self.write_number(0)}]"]
            if self.difficulty >= 3:
                forms += [
                    f"[n {self._draw_operator()} for n in {name}]",
                    f"[n for n in {name} if {self._draw_odd()}] + [0]",
                ]
            return draw.pick(forms)
        return f"[{', '.join(str(draw.between(1, 20)) for _ in range(draw.between(3, 5)))}]"

    def _draw_operator(self) -> str:
        return f"{self.draw.pick('+-*%')} {self.draw.between(2, 6)}"

    def _draw_odd(self) -> str:
        draw = self.draw
        return draw.pick([f"n > {draw.between(4, 12)}", f"n % {draw.between(2, 3)} == {draw.between(0, 1)}"])

    def write_words(self, depth: int = 2) -> str:
        draw = self.draw
        names = self.scope.list_names("words")
        if names and self.difficulty >= 3 and draw.chance(0.4):
            name = draw.pick(names)
            return draw.pick([f"sorted({name})", f"{name}[::-1]", f"[w[:{draw.between(1, 3)}] for w in {name}]"])
        return "[" + ", ".join(f'"{word}"' for word in draw.some(WORDS, draw.between(3, 4))) + "]"

    def write_counts(self, depth: int = 2) -> str:
        draw = self.draw
        if self.scope.list_names("words") and draw.chance(0.3):
            return f"{{w: len(w) for w in {draw.pick(self.scope.list_names('words'))}}}"
        keys = draw.some(WORDS, draw.between(2, 4))
        return "{" + ", ".join(f'"{key}": {draw.between(1, 15)}' for key in keys) + "}"

    def write_condition(self, depth: int = 1) -> str:
        draw, scope = self.draw, self.scope
        if depth > 0 and self.difficulty >= 2 and draw.chance(0.2):
            return f"{self.write_condition(0)} {draw.pick(['and', 'or'])} {self.write_condition(0)}"
        options: list[Callable[[], str]] = [
            lambda: f"{self.write_number(1)} {draw.pick(['<', '>', '<=', '>=', '!='])} {self.write_number(0)}",
            lambda: f"{self.write_term(1)} % {draw.between(2, 4)} == {draw.between(0, 1)}",
        ]
        options += [
            partial(self._write_membership, name) for name in scope.list_names("str", "words", "counts", "ints")
        ]
        return draw.pick(options)()

    def _write_membership(self, name: str) -> str:
        kind = self.scope.variables[name]
        if kind == "str":
            return f'"{self.draw.pick("aeiolnr")}" in {name}'
        return f"{self.write_number(0) if kind == 'ints' else self.write_string(0)} in {name}"

    def _maybe_call(self, kind: Kind, depth: int) -> str | None:
        """At random, return either a call of a function that returns this kind, or None."""
        functions = [f for f in self.scope.functions if f.gives == kind]
        if not functions or self.scope.loops > 1 or not self.draw.chance(0.3):
            return None
        return self.write_call(self.draw.pick(functions), depth - 1 if self.difficulty >= 3 else 0)

    def write_call(self, function: Function, depth: int) -> str:
        """Return a call of the function, with arguments of at most this depth."""
        return f"{function.name}({', '.join(self.write(kind, depth) for kind in function.takes)})"
