"""Text in pages: escaped, visible and bounded."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gymposium_viewer.pages import embed_json, is_prose, render_page, shorten


@given(st.text(st.characters(), max_size=40))
def test_templates_escape_text_and_show_control_characters(text: str) -> None:
    page = render_page("error.html", "a/b.html", status=400, what=f"<b>{text}</b>")
    page.encode("utf-8")
    assert "<b>" not in page
    assert "\x1b" not in page
    assert 'href="../static/base.css"' in page


def test_embedded_json_cannot_close_its_element() -> None:
    assert "<" not in embed_json(["</script><script>alert(1)</script>", {"<!--": "\u2028"}])


def test_long_text_is_shortened_in_the_middle() -> None:
    short = shorten("a" * 50_000 + "z" * 50_000)
    assert short.startswith("aaaa")
    assert short.endswith("zzzz")
    assert "80,000 characters omitted" in short
    assert shorten("abc") == "abc"


@pytest.mark.parametrize(
    "line",
    [
        "You are x, to move. Turn 20 of at most 501.",
        "A piece goes to a square that is empty.",
        "- when it occurs twice;",
    ],
)
def test_sentences_may_wrap(line: str) -> None:
    assert is_prose(line)


@pytest.mark.parametrize(
    "line",
    [
        " 13  14  15  16  17  18 |  19  20",
        "X . . O X . O . . . . . X O X O X O X O X O X",
        "8 r n b q k b n r",
        "  a b c d e f g h",
        "for piece in labels: print(piece, left, right)",
        "speed = adjust(abs(3), adjust(depth, result, [5, 5, 4, 16]), [19, 12, 12, 11, 3])",
        "Points  1  2  3 and so on to the end",
        "",
    ],
)
def test_board_and_program_lines_may_not_wrap(line: str) -> None:
    assert not is_prose(line)
