"""Plain chat templates, whose rendering time and output are limited by the sizes of template and messages.

They loop over the messages without nesting, set no variables, and call nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import Environment, TemplateError, nodes

from gymposium_agents.chat.small_size import CHAT_TEMPLATE

_LONGEST = 1_000
"""Maximum length of a plain template in characters. A template writes a message each time that it names it."""
_LIST = "messages"
_NODES = (
    nodes.Output,
    nodes.TemplateData,
    nodes.Const,
    nodes.If,
    nodes.CondExpr,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Add,
)


def is_plain(template: str) -> bool:
    """Return True if a template is plain, or is the template of small models. Rendering time and output are then linear
    in the messages."""
    if template == CHAT_TEMPLATE:
        return True
    if len(template) > _LONGEST:
        return False
    try:
        return all(_is_plain(node, in_loop=False) for node in Environment().parse(template).body)
    except (TemplateError, RecursionError):
        return False


def _is_plain(node: nodes.Node, *, in_loop: bool) -> bool:
    match node:
        case nodes.For(iter=nodes.Name(name=name), target=nodes.Name(), recursive=False) if name == _LIST:
            return not in_loop and all(_is_plain(child, in_loop=True) for child in _list_expressions(node))
        case nodes.Name(name=name):
            return name != _LIST
        case nodes.Getattr():
            return _is_plain(node.node, in_loop=in_loop)
        case nodes.Getitem(arg=nodes.Const()):
            return _is_plain(node.node, in_loop=in_loop)
        case nodes.Filter(name="trim", args=[], kwargs=[], dyn_args=None, dyn_kwargs=None, node=nodes.Node() as inner):
            return _is_plain(inner, in_loop=in_loop)
    return isinstance(node, _NODES) and all(_is_plain(child, in_loop=in_loop) for child in node.iter_child_nodes())


def _list_expressions(loop: nodes.For) -> Iterator[nodes.Node]:
    """Yield the expressions that a loop evaluates for each message."""
    yield from loop.body
    yield from loop.else_
    if loop.test is not None:
        yield loop.test
