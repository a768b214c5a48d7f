"""Prompts: parts, order and digest."""

from __future__ import annotations

import pytest

from gymposium import load_game
from gymposium.games.protocol import Style
from gymposium.replies.prompt import Prompt, get_prompt
from gymposium.replies.reading import READERS

GAMES = ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)"]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("style", ["full", "compact"])
@pytest.mark.parametrize("reader", sorted(READERS))
def test_prompt_without_rules_keeps_everything_else(game: str, style: Style, reader: str) -> None:
    loaded = load_game(game)
    prompt, match = get_prompt(loaded, style, READERS[reader]), loaded.new(3)
    for seat in match.to_move():
        seen = match.observe(seat, style)
        whole, later = prompt(seen), prompt(seen, rules=False)
        rules = loaded.rules(seat, style)
        assert whole == rules + ("\n" if style == "full" else "") + later
        assert later.startswith(seen.text)
        assert later.endswith(READERS[reader].instructions(style))
        assert rules not in later
        if style == "full":
            assert f"Legal moves: {', '.join(seen.legal_moves or [])}\n" in later


@pytest.mark.parametrize("style", ["full", "compact"])
def test_reason_comes_first(style: Style) -> None:
    loaded = load_game("tic_tac_toe")
    prompt, seen = get_prompt(loaded, style, READERS["move"]), loaded.new(0).observe(0, style)
    assert prompt(seen, "No such square.") == f"No such square.\n{prompt(seen)}"
    assert prompt(seen, "No such square.", rules=False) == f"No such square.\n{prompt(seen, rules=False)}"


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("style", ["full", "compact"])
@pytest.mark.parametrize("reason", [None, "", "No such move."])
@pytest.mark.parametrize("rules", [True, False])
def test_joined_parts_are_the_prompt(game: str, style: Style, reason: str | None, rules: bool) -> None:
    loaded = load_game(game)
    prompt, match = get_prompt(loaded, style, READERS["move"]), loaded.new(3)
    seen = match.observe(match.to_move()[0], style)
    parts = prompt.parts(seen, reason, rules=rules)
    assert "".join(parts) == prompt(seen, reason, rules=rules)
    assert parts.reason == ("" if reason is None else f"{reason}\n")
    assert bool(parts.rules) == rules
    assert parts.rules.strip() in loaded.rules(seen.seat, style)
    assert parts.position.startswith(seen.text)
    assert parts.instructions == READERS["move"].instructions(style)


def test_digest_covers_game_style_and_reader() -> None:
    styles: tuple[Style, ...] = ("full", "compact")
    prompts = [(load_game(game), style, READERS[name]) for game in GAMES for style in styles for name in READERS]
    assert len({get_prompt(*made).hash for made in prompts}) == len(prompts)
    assert [Prompt(*made).hash for made in prompts] == [get_prompt(*made).hash for made in prompts]
