"""Untrusted chat templates render within limits, with the same output as transformers."""

from __future__ import annotations

import copy
import resource
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from gymposium.errors import GymposiumError
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.rendering import RenderingCost, RenderingRefusal, render_chat
from gymposium_agents.chat.rendering.plain import is_plain
from gymposium_agents.chat.small_size import CHAT_TEMPLATE

CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] | trim }}"
    "{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
DOUBLED = "{% set ns = namespace(x='aaaa') %}{% for i in range(60) %}{% set ns.x = ns.x BETWEEN ns.x %}{% endfor %}"

COSTLY = {
    "multiplication": "{{ 'a' * 10**9 }}",
    "a list": "{{ [messages] * 10**9 }}",
    "a power": "{{ 10 ** (10 ** 9) }}",
    "ljust": "{{ 'a'.ljust(10**9) }}",
    "center": "{{ 'a' | center(10**9) }}",
    "format": "{{ '{:>999999999}'.format(1) }}",
    "percent": "{{ '%999999999d' % 1 }}",
    "joined": "{{ range(90000) | join('a' * 90000) }}",
    "indented": "{{ messages | tojson(indent=10**9) }}",
    "replaced": "{{ ('a' * 90000).replace('a', 'b' * 90000) }}",
    "doubled by +": DOUBLED.replace("BETWEEN", "+"),
    "doubled by ~": DOUBLED.replace("BETWEEN", "~"),
    "many pieces": "{% for i in range(99999) %}{% for j in range(99999) %}{{ messages }}{% endfor %}{% endfor %}",
    "silent loops": "{% set r = range(99999) %}{% for i in r %}{% for j in r %}{% endfor %}{% endfor %}",
}
"""Templates that write too much, need too much memory, or take too long."""


@pytest.mark.parametrize("name", ["doubled by ~", "joined", pytest.param("silent loops", marks=pytest.mark.slow)])
def test_costly_templates_stay_within_limits(name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises((RenderingCost, RenderingRefusal)):
        rendered(COSTLY[name])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024
    assert rendered("{% set x = 1 %}{{ x }}") == "1"


def rendered(template: str) -> str:
    return render_chat(template, [{"role": "user", "content": "b2"}], None, opened=True, variables={"bos_token": "<s>"})


@pytest.mark.slow
def test_long_template_errors_are_truncated() -> None:
    with pytest.raises(RenderingRefusal) as refused:
        rendered("{% set x = 1 %}{{ raise_exception('a' * 10**8) }}")
    assert len(str(refused.value)) < 10_000


def test_template_errors_are_reported() -> None:
    with pytest.raises(RenderingRefusal, match="no such role"):
        rendered("{% set x = 1 %}{{ raise_exception('no such role') }}")
    with pytest.raises(RenderingRefusal, match="division"):
        rendered("{{ 1 / 0 }}")
    with pytest.raises(RenderingRefusal, match="unexpected"):
        rendered("{{ }")


DEEP = {
    "sums of numbers": "{{" + "+".join(["1"] * 490) + "}}",
    "sums of names": "{{" + "+".join(["a"] * 490) + "}}",
    "sums of fewer names": "{{" + "+".join(["a"] * 240) + "}}",
    "attributes": "{{ a" + ".b" * 490 + " }}",
    "items": "{{ a" + "[1]" * 320 + " }}",
    "negations": "{{" + "not " * 240 + "a }}",
    "filters": "{{ a" + "|trim" * 190 + " }}",
    "conditions": "{{" + "1 if a else " * 80 + "1 }}",
    "blocks": "{% if a %}" * 45 + "{% endif %}" * 45,
    "parentheses": "{{" + "(" * 490 + "1" + ")" * 490 + "}}",
}
COSTLY_DEPTHS = ("sums of fewer names", "negations", "filters")
"""Templates that use up the time limit."""


@pytest.mark.parametrize(
    "template",
    [pytest.param(DEEP[name], id=name, marks=pytest.mark.slow if name in COSTLY_DEPTHS else ()) for name in DEEP],
)
def test_deeply_nested_templates_render_or_are_refused(template: str) -> None:
    assert len(template) <= 1_000
    with suppress(RenderingRefusal, RenderingCost):
        assert rendered(template) in {"", "1", "490", "True", "False"}


def test_costly_template_error_names_the_model(
    family_tokenizer: Callable[[str], Any],
) -> None:
    """It renders at first, and is not asked again after it took too much."""
    tokenizer = copy.deepcopy(family_tokenizer("qwen3"))
    bomb = "{% if messages[0].role == 'system' %}{{ [messages] * 10**9 }}{% endif %}"
    tokenizer.chat_template = bomb + CHATML
    chat = Chat(tokenizer)
    assert chat.prompt("b2")
    for roles in (["system", "user"], ["user", "assistant", "user"]):
        with pytest.raises(GymposiumError, match=r"chat template of '.*' cannot be used: .* memory\..* another model"):
            chat.conversation([{"role": role, "content": "b2"} for role in roles])


@pytest.mark.parametrize("template", [CHAT_TEMPLATE, CHATML])
def test_common_small_templates_are_plain(template: str) -> None:
    assert is_plain(template)


NOT_PLAIN = [
    *COSTLY.values(),
    "{% for a in messages %}{% for b in messages %}x{% endfor %}{% endfor %}",
    "{% for a in messages %}{{ messages }}{% endfor %}",
    "{% for a in messages recursive %}{{ loop(messages) }}{% endfor %}",
    "{% for a in messages if messages %}x{% endfor %}",
    "{% for a in 'text' %}x{% endfor %}",
    "{% macro f() %}x{% endmacro %}",
    "{% include 'x' %}",
    "{{ a[b] }}",
    "{{ a[1:2] }}",
    "{{ }",
    "x" * 1_001,
    "{{ " + "(" * 400 + "1" + ")" * 400 + " }}",
]


@pytest.mark.parametrize("template", NOT_PLAIN, ids=[text[:40] for text in NOT_PLAIN])
def test_unbounded_templates_are_not_plain(template: str) -> None:
    assert not is_plain(template)
