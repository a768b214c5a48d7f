"""Settings missing from a config are derived from its games."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gymposium_train.config import ColdStart, TrainConfig
from gymposium_train.config.reading import change_config
from gymposium_train.run.fitting import fit_config


def fit(*games: str, given: tuple[str, ...] = ()) -> Any:
    return fit_config(change_config(TrainConfig(games=games), *given))


def test_max_tokens_fits_long_moves() -> None:
    assert fit("tic_tac_toe").prompting.max_tokens == 24
    assert fit("tic_tac_toe", "backgammon").prompting.max_tokens > 25  # "bar/20 bar/20 13/8 13/8" and more
    assert fit("tables").prompting.max_tokens > 60  # {"name": "query", "arguments": {"sql": "SELECT ..."}}


def test_value_scale_and_penalty_follow_the_returns() -> None:
    chips = fit("leduc_poker")
    assert 3.0 < chips.credit.critic.scale < 8.0
    assert chips.prompting.on_illegal == f"penalty({chips.credit.critic.scale / 2:.2g},3)"
    assert fit("leduc_poker", given=("reward=score",)).credit.critic.scale is None


@pytest.mark.parametrize(
    "given", [("prompting.max_tokens=7",), ("prompting.on_illegal=forfeit",), ("credit.critic.scale=2",)]
)
def test_explicit_settings_are_kept(given: tuple[str, ...]) -> None:
    config = fit("leduc_poker", given=given)
    name, _, value = given[0].partition("=")
    found: Any = config
    for part in name.split("."):
        found = getattr(found, part)
    assert str(found).removesuffix(".0") == value


def test_named_model_keeps_its_prompting() -> None:
    named = fit("leduc_poker", given=("model.name=some/model",))
    assert (named.prompting.max_tokens, named.prompting.on_illegal) == (512, "forfeit")
    bare = fit("leduc_poker", given=("model.name=some/model", "prompting.reply=move"))
    assert bare.prompting.max_tokens == 24
    thinking = fit("mail", given=("model.name=some/model", "prompting.reply=tools", "prompting.thinking=true"))
    assert thinking.prompting.max_tokens == 512
    assert fit("leduc_poker", given=("model.name=some/model", "credit.kind=gae")).credit.critic.scale is not None
    named = fit("mail", given=("model.name=some/model", "prompting.context=state"))
    assert (named.prompting.context, named.model.small.prose) == ("state", None)


def test_small_model_fits_free_text_and_worlds() -> None:
    assert [fit(game).model.small.prose for game in ("tic_tac_toe", "trace", "tables")] == [None, True, True]
    assert [fit(game).prompting.context for game in ("tic_tac_toe", "trace", "tables")] == ["state", "state", "full"]
    given = fit("tables", given=("prompting.context=state", "model.small.prose=false", "model.small.hidden=32"))
    assert (given.prompting.context, given.model.small.prose, given.model.small.hidden) == ("state", False, 32)


def test_max_tokens_follows_replies_in_files(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "x" * 40}]}
    (tmp_path / "chats.jsonl").write_text(json.dumps(chat), encoding="utf-8")
    config = TrainConfig(games=("tables",), cold_start=ColdStart(data=(str(tmp_path / "chats.jsonl"),)))
    assert fit_config(config).prompting.max_tokens == 61


def test_only_deterministic_open_games_imitate_winners() -> None:
    assert fit("tic_tac_toe").cold_start.keep == "winners"
    assert {fit(game).cold_start.keep for game in ("kuhn_poker", "phantom_ttt", "pig")} == {"all"}
    assert fit("tic_tac_toe", "pig").cold_start.keep == "all"
    assert fit("pig", given=("cold_start.keep=winners",)).cold_start.keep == "winners"
