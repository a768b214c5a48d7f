"""Definite-assignment analysis: which names are bound at each point of a program.

Modules, functions and class bodies are scopes. For each scope, the analysis tracks the names that are bound on every
path to a statement. Where paths meet, it keeps the names that are bound on all of them. The result is conservative: it
omits names that may be unbound.

- A loop's body may never run, so names that only the body binds are not bound after the loop. `while True` ends only
through `break`.
- An exception may leave a `try` at any statement. A handler begins with the names bound before the `try`, without those
  that its body may unbind.
- The same holds for `finally`. It also holds for the statements after a `with`, because the context manager may
  suppress an exception.
- `del x` and the end of `except E as x` unbind a name.
- Inner functions may be called at any time. If one unbinds a `global` or `nonlocal` name, that name counts as unbound
  everywhere.
- Statements after `return`, `raise`, `break` and `continue` are not reached.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Scope: TypeAlias = ast.Module | Function | ast.ClassDef
State: TypeAlias = frozenset[str] | None
"""Set of bound names; None at an unreachable point."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(slots=True)
class Point:
    """A point between statements, before or after `statement` in the same block."""

    statement: ast.stmt
    after: bool
    bound: frozenset[str]
    """Names that are definitely bound here."""
    fresh: frozenset[str]
    """Names bound just before: by the previous statement, a loop's head, or as parameters."""


def find_points(tree: ast.Module) -> list[Point]:
    """Return all reachable points of the program, in textual order."""
    reached = [point for scope in find_scopes(tree) for point in _Analysis(scope).run()]
    return sorted(reached, key=lambda p: (p.statement.end_lineno or 0) if p.after else p.statement.lineno - 0.5)


def find_scopes(tree: ast.Module) -> Iterator[Scope]:
    """Yield the module and all functions and classes in it."""
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


@dataclass(slots=True)
class _Loop:
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


class _Analysis:
    """Analysis of one scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._loops: list[_Loop] = []
        self._seen: dict[tuple[int, bool], Point] = {}
        self._never = _find_names_unbound_inside(scope) | _find_hidden_names(scope)

    def run(self) -> list[Point]:
        parameters = frozenset(_list_parameters(self._scope)) if isinstance(self._scope, Function) else frozenset[str]()
        self._follow_block(self._scope.body, parameters, parameters)
        for point in self._seen.values():
            point.bound -= self._never
            point.fresh -= self._never
        return list(self._seen.values())

    # -- points

    def _record_point(self, statement: ast.stmt, after: bool, state: frozenset[str], fresh: Iterable[str]) -> None:
        """Record that a path reaches this point. In loops, only names bound on every pass count."""
        point = self._seen.get((id(statement), after))
        if point is None:
            self._seen[id(statement), after] = Point(statement, after, state, state & frozenset(fresh))
        else:
            point.bound &= state
            point.fresh &= state

    def _follow_block(self, body: Sequence[ast.stmt], state: State, fresh: Iterable[str] = ()) -> State:
        """Follow a block and return the state at its end."""
        if state is not None and body:  # only a module may be empty
            self._record_point(body[0], False, state, fresh)
        for statement in body:
            if state is None:
                return None
            state = self._follow_statement(statement, state)
            if state is not None:
                self._record_point(statement, True, state, find_bound_names(statement))
        return state

    # -- statements

    def _follow_statement(self, statement: ast.stmt, state: frozenset[str]) -> State:
        match statement:
            case ast.Return() | ast.Raise():
                return None
            case ast.Break():
                self._loops[-1].breaks.append(state)
                return None
            case ast.Continue():
                self._loops[-1].continues.append(state)
                return None
            case ast.Delete():
                return state - find_bound_names(statement)
            case ast.If():
                return _intersect_states(
                    self._follow_block(statement.body, state), self._follow_else(statement.orelse, state)
                )
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._follow_loop(statement, state)
            case ast.With() | ast.AsyncWith():
                targets = find_bound_names(statement)
                end = self._follow_block(statement.body, state | targets, targets)
                return _intersect_states(end, state - find_unbound_names(statement.body))
            case ast.Try() | ast.TryStar():
                return self._follow_try(statement, state)
            case ast.Match():
                return self._follow_match(statement, state)
            case _:
                return state | find_bound_names(statement)

    def _follow_else(self, body: Sequence[ast.stmt], state: State) -> State:
        return self._follow_block(body, state) if body else state

    def _follow_loop(self, loop: ast.For | ast.AsyncFor | ast.While, state: frozenset[str]) -> State:
        targets = find_bound_names(loop)
        endless = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)
        while True:  # until another pass leaves the state unchanged; it can only shrink
            exits = _Loop()
            self._loops.append(exits)
            end = self._follow_block(loop.body, state | targets, targets)
            self._loops.pop()
            again = _intersect_states(state, end, *exits.continues)
            assert again is not None
            if again == state:
                break
            state = again
        return _intersect_states(None if endless else self._follow_else(loop.orelse, state), *exits.breaks)

    def _follow_try(self, statement: ast.Try | ast.TryStar, state: frozenset[str]) -> State:
        outer = self._loops
        inner = [_Loop() for _ in outer]
        self._loops = inner
        thrown = state - find_unbound_names(statement.body)
        ends = [self._follow_block(statement.body, state)]
        if ends[0] is not None:
            ends[0] = self._follow_else(statement.orelse, ends[0])
        for handler in statement.handlers:
            name = frozenset([handler.name] if handler.name else [])
            end = self._follow_block(handler.body, thrown | name, name)
            ends.append(None if end is None else end - name)
        self._loops = outer
        final = statement.finalbody
        caught = frozenset(handler.name for handler in statement.handlers if handler.name)
        gone = caught | find_unbound_names(final)  # a break or continue leaves the handler and runs `finally` too
        for loop, exits in zip(outer, inner, strict=True):
            loop.breaks += [state - gone for state in exits.breaks if state is not None]
            loop.continues += [state - gone for state in exits.continues if state is not None]
        end = _intersect_states(*ends)
        if not final:
            return end
        bodies = [statement.body, statement.orelse, *(handler.body for handler in statement.handlers)]
        self._follow_block(
            final, state - caught - find_unbound_names([s for body in bodies for s in body])
        )  # after an exception
        return None if end is None else self._follow_block(final, end)

    def _follow_match(self, statement: ast.Match, state: frozenset[str]) -> State:
        ends: list[State] = []
        for case in statement.cases:
            captured = frozenset(_list_captures(case.pattern))
            ends.append(self._follow_block(case.body, state | captured, captured))
            if case.guard is None and _matches_everything(case.pattern):
                return _intersect_states(*ends)
        return _intersect_states(state, *ends)


def _intersect_states(*states: State) -> State:
    """Return the names bound on every path that leads here."""
    reached = [state for state in states if state is not None]
    return frozenset.intersection(*reached) if reached else None


def find_bound_names(statement: ast.stmt) -> frozenset[str]:
    """Return the names that the statement binds or deletes: targets, imports, definitions.

    Names bound inside an expression (`:=`) are omitted, because that part of the expression may not be evaluated.
    """
    match statement:
        case ast.Assign() | ast.Delete():
            return frozenset(name for target in statement.targets for name in _list_target_names(target))
        case ast.AnnAssign():
            return frozenset(_list_target_names(statement.target) if statement.value is not None else ())
        case ast.AugAssign() | ast.For() | ast.AsyncFor():
            return frozenset(_list_target_names(statement.target))
        case ast.With() | ast.AsyncWith():
            return frozenset(
                name for i in statement.items if i.optional_vars for name in _list_target_names(i.optional_vars)
            )
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return frozenset([statement.name])
        case ast.Import() | ast.ImportFrom():
            return frozenset((alias.asname or alias.name).split(".")[0] for alias in statement.names)
        case _:
            return frozenset()


def _list_target_names(target: ast.expr) -> Iterator[str]:
    """Yield the names in a target. Attributes and items bind no names."""
    match target:
        case ast.Name():
            yield target.id
        case ast.Tuple() | ast.List():
            for part in target.elts:
                yield from _list_target_names(part)
        case ast.Starred():
            yield from _list_target_names(target.value)
        case _:
            pass


def _list_captures(pattern: ast.pattern) -> Iterator[str]:
    for node in ast.walk(pattern):
        if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest


def _matches_everything(pattern: ast.pattern) -> bool:
    """Return whether a pattern matches everything: `case _:` or `case name:`."""
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def find_unbound_names(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Return all names that these statements may unbind in their own scope, at any depth."""
    return frozenset(name for node in _list_scope_nodes(body) for name in _list_unbound(node))


def _list_unbound(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Delete):
        return find_bound_names(node)
    if isinstance(node, ast.ExceptHandler) and node.name:
        return (node.name,)
    return ()


def _list_scope_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, without those of the functions and classes inside it."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def _list_parameters(function: Function) -> Iterator[str]:
    args = function.args
    for argument in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if argument is not None:
            yield argument.arg


def _find_names_unbound_inside(scope: Scope) -> frozenset[str]:
    """Return names of the scope that an inner scope declares `global` or `nonlocal` and may unbind."""
    unbound: set[str] = set()
    for node in ast.walk(scope):
        if node is not scope and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            unbound |= _find_declared_names(node) & find_unbound_names(node.body)
    return frozenset(unbound)


def _find_declared_names(scope: Scope) -> frozenset[str]:
    kinds = ast.Global | ast.Nonlocal
    return frozenset(name for node in _list_scope_nodes(scope.body) if isinstance(node, kinds) for name in node.names)


def _find_hidden_names(scope: Scope) -> frozenset[str]:
    """Return names that are not worth showing: private names, functions, classes, modules, and names from other
    scopes."""
    dull: set[str] = set(_find_declared_names(scope)) if not isinstance(scope, ast.Module) else set()
    defines = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    names: set[str] = set(_list_parameters(scope)) if isinstance(scope, Function) else set()
    for node in _list_scope_nodes(scope.body):
        if isinstance(node, defines):
            dull |= find_bound_names(node)
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.pattern):
            names |= set(_list_captures(node))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return frozenset(dull | {name for name in names if name.startswith("_")})
