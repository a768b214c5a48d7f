"""Insertion of debug prints into a program: `dbg("__DBG_3__", total, name)` between its statements.

Debug prints are inserted as lines of text, so the rest of the program stays unchanged, including comments. The result
is parsed again and must equal the original program if the debug prints are removed. Debug prints show only definitely
bound names.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from gymposium.errors import GymposiumError
from gymposium.util.streams import Draw
from gymposium_trace.bound import Point, find_points

_LOOKS_INTO_ITSELF = frozenset("exec eval globals locals vars dir __dict__ __prepare__ __import__ _getframe".split())
"""Names that could reveal the debug prints or silently unbind other names. Programs that use them get no debug
prints."""

_NEWLINE = re.compile(r"\r\n?|\n")
_REST = re.compile(rb"[ \t\f]*(#.*)?")


class InjectionError(GymposiumError):
    """Error for a program that is not Python, or that cannot take debug prints. The message says why."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place for a new line: before the line with this index, with this indentation."""

    index: int
    indent: str
    point: Point


def inject(program: str, count: int, draw: Draw) -> str:
    """Return the program with `count` debug prints, or fewer if it does not have enough places for them.

    Raises `InjectionError` if the program does not parse."""
    try:
        return _inject(program, count, draw)
    except RecursionError as error:  # an expression of thousands of terms
        raise InjectionError("its expressions are too deep") from error


def _inject(program: str, count: int, draw: Draw) -> str:
    program = "\n".join(_NEWLINE.split(program)).rstrip() + "\n"
    tree = _parse(program)
    try:
        compile(program, "program.py", "exec", dont_inherit=True)  # such as a `break` outside a loop
    except SyntaxError as error:
        raise InjectionError(f"it is not Python ({error})") from error
    except MemoryError as error:
        raise InjectionError("compiling it takes too much memory") from error
    if count == 0 or _inspects_itself(tree):
        return program
    lines = program.split("\n")
    places = _find_places(tree, lines)
    if not places:
        return program
    name = _find_free_name(tree)
    chosen = [places[index] for index in sorted(_choose_places(places, count, draw))]
    alias = "" if name == "dbg" else f" as {name}"
    added: dict[int, list[str]] = {_find_import_line(tree): [f"from dbg import dbg{alias}", ""]}
    for number, place in enumerate(chosen):
        shown = ", ".join(_draw_names(place.point, draw))
        added.setdefault(place.index, []).append(f'{place.indent}{name}("__DBG_{number}__", {shown})')
    result = "\n".join(line for index, old in enumerate(lines) for line in (*added.get(index, ()), old))
    if ast.dump(_remove_debug_prints(_parse(result), name)) != ast.dump(tree):
        raise InjectionError("debug prints cannot be inserted between its lines")
    return result


def _parse(program: str) -> ast.Module:
    try:
        return ast.parse(program, "program.py")
    except (SyntaxError, ValueError) as error:  # null bytes
        raise InjectionError(f"it is not Python ({error})") from error
    except MemoryError as error:  # from thousands of signs or brackets
        raise InjectionError("its expressions are too deep") from error


def _inspects_itself(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name in _LOOKS_INTO_ITSELF or (isinstance(node, ast.FunctionDef) and node.name in _LOOKS_INTO_ITSELF):
            return True
    return False


def _find_free_name(tree: ast.Module) -> str:
    taken = {value for node in ast.walk(tree) for _, value in ast.iter_fields(node) if isinstance(value, str)}
    taken |= {name for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    name, number = "dbg", 1
    while name in taken:
        number += 1
        name = f"dbg_{number}"
    return name


def _find_import_line(tree: ast.Module) -> int:
    """Return the index of the line where the import belongs, after the docstring and `from __future__`."""
    line = 0
    for number, statement in enumerate(tree.body):
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not future and not (number == 0 and _is_docstring(statement)):
            break
        line = statement.end_lineno or 0
    return line


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _find_places(tree: ast.Module, lines: list[str]) -> list[_Place]:
    """Return the places with bound names where a new line fits, in textual order."""
    first = _find_import_line(tree)
    possible = [_make_place(point, lines) for point in find_points(tree) if point.bound]
    places = [place for place in possible if place is not None and place.index >= first]
    # if blocks end on the same line, the inner one comes first
    return sorted(places, key=lambda place: (place.index, -len(place.indent)))


def _make_place(point: Point, lines: list[str]) -> _Place | None:
    statement = point.statement
    first, end_line, end = statement.lineno, statement.end_lineno, statement.end_col_offset
    assert end_line is not None
    assert end is not None
    line = lines[first - 1].encode()
    indent, text = line[: statement.col_offset], line[statement.col_offset :]
    if indent.strip() or (isinstance(statement, ast.If) and text.startswith(b"elif")):
        return None
    if point.after:
        if not _REST.fullmatch(lines[end_line - 1].encode()[end:]):  # another statement on the same line
            return None
        return _Place(end_line, indent.decode(), point)
    if _is_docstring(statement):
        return None
    decorators = getattr(statement, "decorator_list", [])
    return _Place(min([first, *(d.lineno for d in decorators)]) - 1, indent.decode(), point)


def _choose_places(places: list[_Place], count: int, draw: Draw) -> list[int]:
    """Draw indices of places, preferring those with a newly bound name."""
    fresh = [index for index, place in enumerate(places) if place.point.fresh]
    stale = [index for index, place in enumerate(places) if not place.point.fresh]
    chosen = draw.some(fresh, count)
    return chosen + draw.some(stale, count - len(chosen))


def _draw_names(point: Point, draw: Draw) -> list[str]:
    """Draw one to three names, beginning with a newly bound name if there is one."""
    shown = draw.some(sorted(point.fresh), 1)
    others = sorted(point.bound - set(shown))
    return shown + draw.some(others, draw.between(1, 3) - len(shown))


def _remove_debug_prints(tree: ast.Module, name: str) -> ast.Module:
    """Return the program without its debug prints."""

    class Remover(ast.NodeTransformer):
        def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
            call = node.value
            ours = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == name
            return None if ours else node

        def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
            return None if node.module == "dbg" and (node.names[0].asname or "dbg") == name else node

    cleaned: ast.Module = Remover().visit(tree)
    return cleaned
