"""Whatever somebody wrote is shown, and steers nothing."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given, strategies as st

from gymposium.viewer.pages import data, render
from gymposium.viewer.text import shortened, visible


def test_no_character_that_steers_is_left() -> None:
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
def test_it_becomes_a_symbol_and_all_else_stays(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


@given(st.text(st.characters(), max_size=40))
def test_a_template_escapes_it_and_makes_it_visible(text: str) -> None:
    page = render("error.html", "a/b.html", status=400, what=f"<b>{text}</b>")
    page.encode("utf-8")
    assert "<b>" not in page
    assert "\x1b" not in page
    assert 'href="../static/base.css"' in page


def test_no_text_ends_the_element_that_holds_it_as_data() -> None:
    assert "<" not in data(["</script><script>alert(1)</script>", {"<!--": "\u2028"}])


def test_a_very_long_text_is_shown_from_both_ends() -> None:
    short = shortened("a" * 50_000 + "z" * 50_000)
    assert short.startswith("aaaa")
    assert short.endswith("zzzz")
    assert "80,000 characters are left out" in short
    assert shortened("abc") == "abc"
