"""The debug print: `dbg("__DBG_3__", total, name)` prints `__DBG_3__ 15 'ada'`.

A value is printed as its `repr` if that is the same everywhere: int, float, str, bool, None, and lists, tuples and
dicts of these, nested up to four deep. Other values, and values longer than 200 characters, are printed as their type's
name. The function calls no method of the program's classes and never raises an exception. It is unaffected if the
program changes builtins or `sys.stdout`.

This file runs in the subprocess beside the program, so it imports nothing from this package.
"""

import sys

_MOST = 200
_DEEPEST = 4
_out, _print, _repr, _type, _len, _all = sys.stdout, print, repr, type, len, all
_name, _exact = type.__dict__["__name__"].__get__, str.__str__  # a metaclass or a subclass of str could override it
_int, _str, _list, _tuple, _dict, _simple = int, str, list, tuple, dict, frozenset({float, str, bool, _type(None)})


def _is_plain(value: object, depth: int) -> bool:
    kind = _type(value)
    if kind is _int:
        return value.bit_length() < 4 * _MOST  # type: ignore[attr-defined, no-any-return]
    if kind in (_list, _tuple, _dict):
        if depth == 0 or _len(value) > _MOST:  # type: ignore[arg-type]
            return False
        parts = [*value, *value.values()] if kind is _dict else value  # type: ignore[attr-defined, misc]
        return _all([_is_plain(part, depth - 1) for part in parts])  # type: ignore[attr-defined]
    if kind is _str:
        return _len(value) <= _MOST  # type: ignore[arg-type]
    return kind in _simple


def _format_value(value: object) -> str:
    if _is_plain(value, _DEEPEST):
        text = _repr(value)
        if _len(text) <= _MOST:
            return text
    return _exact(_name(_type(value)))


def dbg(mark: str, *values: object) -> None:
    """Print a line with the marker and the values."""
    words = [mark]
    for value in values:
        words.append(_format_value(value))  # noqa: PERF401
    _print(*words, file=_out)
