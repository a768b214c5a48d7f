"""Text in pages: escaped, visible, and not too long."""

from __future__ import annotations

from hypothesis import given, strategies as st

from gymposium.viewer.pages import data, render
from gymposium.viewer.text import shortened


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
