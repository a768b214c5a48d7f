"""After each update the loop sees that the engine plays what was learned, and stops where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gymposium import load_game, make_player, make_reward
from gymposium.errors import GymposiumError
from gymposium.reading import reader
from gymposium_agents.loading import LoadedModel, load_model
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.lora.canary import EngineDisagrees
from gymposium_agents.player import LanguageModelPlayer
from gymposium_agents.tokens import Policy, Sampling
from gymposium_train.canary import opening_prompts
from gymposium_train.config import Grpo, TrainConfig
from gymposium_train.learner import Learner
from gymposium_train.loop import Trainee, train_step

CONFIG = TrainConfig(
    game="kuhn_poker",
    grpo=Grpo(steps=2, groups=2, group_size=12, final_group_size=12, learning_rate=1e-2, warmup_steps=1),
)


def with_lora(model_directory: Path) -> LoadedModel:
    base = load_model(model_directory)
    return LoadedModel(attach_lora(base.model, rank=4, alpha=8, seed=0), base.chat)


def trainee(learning: LoadedModel, playing: LoadedModel) -> Trainee:
    """A learner of one model and an engine that plays another; the same one, where they are."""
    engine = playing.engine()
    player = LanguageModelPlayer("learner", engine, playing.chat, sampling=Sampling(1.0, 4))
    prompts = opening_prompts(
        load_game("kuhn_poker"), "compact", reader("move"), playing.chat, context=engine.context, seed=0
    )
    learner = Learner(learning.model, learning.pad, token_budget=4096)
    return Trainee(player, player, engine, learner, prompts)


def a_step(who: Trainee, step: int = 0) -> dict[str, object]:
    """One step of the loop, paid by the length of what was said, so that there is something to learn."""

    def paid(group):  # type: ignore[no-untyped-def]
        rewards = make_reward("returns")(group)
        for n, (reward, trajectory) in enumerate(zip(rewards, group, strict=True)):
            reward_value = float(len(trajectory.turns[0].trace.completion.ids) + n % 2)
            yield type(reward)(reward_value, {"length": reward_value})

    game = load_game("kuhn_poker")
    return train_step(step, CONFIG, game, who, make_player("random"), paid, lambda played: None)


def test_an_engine_that_shares_the_model_agrees_after_each_step(model_directory: Path) -> None:
    loaded = with_lora(model_directory)
    who = trainee(loaded, loaded)
    for step in (0, 1):
        metrics = a_step(who, step)
        assert metrics["policy_version"] == who.engine.policy.version > step
        assert 0.0 <= float(str(metrics["canary"])) < 1e-5


def test_an_update_that_never_reached_the_engine_stops_the_loop(model_directory: Path) -> None:
    with pytest.raises(EngineDisagrees, match="learner-v4 was published, but the engine does not play it"):
        a_step(trainee(with_lora(model_directory), with_lora(model_directory)))


def test_the_learner_scores_as_the_engine_does(model_directory: Path) -> None:
    loaded = with_lora(model_directory)
    learner, engine = Learner(loaded.model, loaded.pad, token_budget=64), loaded.engine(Policy("learner", 0))
    pairs = [(loaded.chat.prompt(text), loaded.chat.reply(reply)) for text in ("a", "b c") for reply in ("b2", "pass")]
    pairs.append(pairs[0])
    for mine, theirs in zip(learner.score(pairs), engine.score(pairs), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-5)
    assert all(parameter.grad is None for parameter in learner.named.values())


@pytest.mark.parametrize("game", ["tic_tac_toe", "goofspiel(num_cards=4)", "2048", "trace"])
def test_there_are_prompts_for_every_kind_of_game(model_directory: Path, game: str) -> None:
    """Turn by turn, all at once, alone, and free text; the same ones each time."""
    chat, loaded = load_model(model_directory).chat, load_game(game)
    found = [opening_prompts(loaded, "compact", reader("move"), chat, context=4096, seed=3) for _ in range(2)]
    assert found[0] == found[1]
    assert len(set(found[0])) == 2


def test_prompts_leave_room_for_a_reply_or_the_run_says_what_to_do(model_directory: Path) -> None:
    chat, game = load_model(model_directory).chat, load_game("tic_tac_toe")
    lengths = sorted(len(p) for p in opening_prompts(game, "compact", reader("move"), chat, context=4096, seed=0))
    found = opening_prompts(game, "compact", reader("move"), chat, context=lengths[0] + 1, seed=0)
    assert {len(prompt) for prompt in found} == {lengths[0]}
    with pytest.raises(GymposiumError, match=r"no room for a prompt of tic_tac_toe.*--prompt compact"):
        opening_prompts(game, "compact", reader("move"), chat, context=lengths[0], seed=0)
