"""Presets are complete, and options in a player's text override them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import UnknownName
from gymposium.games.registry import load_game
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium_agents.chat.settings import PlayerSettings, parse_options
from gymposium_agents.players.evaluate import check_share
from gymposium_agents.players.presets import PRESETS, Preset, add_defaults, get_preset


@pytest.mark.parametrize("one", PRESETS.values(), ids=list(PRESETS))
def test_every_preset_is_playable(one: Preset) -> None:
    check_share(one.matches, load_game(one.game))
    assert FailurePolicy.parse(str(one.on_illegal)) == one.on_illegal
    for opponent in one.opponents:
        make_player(opponent)
    PlayerSettings().with_options(one.player)


def test_ludic_preset_follows_its_protocol() -> None:
    ludic = get_preset("ludic")
    assert (ludic.game, ludic.opponents, ludic.matches) == ("tic_tac_toe", ("random",), 200)
    settings = PlayerSettings().with_options(ludic.player)
    assert settings == PlayerSettings("full", "tags", 250, "full", 0.6, False)


def test_unknown_preset_lists_known_ones() -> None:
    with pytest.raises(UnknownName, match="ludic"):
        get_preset("lucid")


names = st.sampled_from(["context", "reply", "temperature", "max_tokens"])
options = st.dictionaries(names, st.sampled_from(["1", "a", "0.5"]))


@given(own=options, defaults=options)
def test_player_options_override_defaults(own: dict[str, str], defaults: dict[str, str]) -> None:
    written = "&".join(f"{name}={value}" for name, value in own.items())
    text = add_defaults("lm:M@A" + (f"?{written}" if written else ""), defaults)
    name, _, found = text.partition("?")
    assert name == "lm:M@A"
    assert parse_options(found or None) == defaults | own
