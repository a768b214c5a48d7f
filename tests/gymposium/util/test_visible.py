"""Untrusted text is shown in pages and terminals without control characters."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from gymposium.util.visible import plural, quantity, visible


def test_no_control_character_is_left() -> None:
    text = visible("".join(map(chr, range(sys.maxunicode + 1))))
    left = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert left == {"\n", "\t"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m\a", "␛[31mred␛[0m␇"),
        ("safe\u202eelas", "safe⟨U+202E⟩elas"),
        ("a\u200bb\u2066c\ufeff", "a⟨U+200B⟩b⟨U+2066⟩c⟨U+FEFF⟩"),
        ("half \ud800", "half ⟨U+D800⟩"),
        ("one\r\ntwo\rthree\x7f", "one\ntwo␍three␡"),
        ("Grüße, 漢字, שלום, ✓, é\n\tx", "Grüße, 漢字, שלום, ✓, é\n\tx"),
    ],
)
def test_control_characters_become_symbols(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("one", "many"), [("match", "matches"), ("reply", "replies"), ("check", "checks"), ("was", "were")]
)
def test_one_thing_takes_the_singular(one: str, many: str) -> None:
    assert [plural(count, one, many) for count in (0, 1, 2)] == [many, one, many]
    if one in ("match", "check"):
        assert plural(2, one) == many
    assert [quantity(count, one, many) for count in (0, 1, 1200)] == [f"0 {many}", f"1 {one}", f"1,200 {many}"]
