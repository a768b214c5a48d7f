"""Nonsensical combinations are refused with a reason and a fix."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gymposium import load_game
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.engines.vllm.home import HOME_VARIABLE, EngineHome
from gymposium_agents.models.small import make_small_model
from gymposium_train.config import TrainConfig
from gymposium_train.config.checks import check_config
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.reading import build_config, change_config
from gymposium_train.config.schema import format_path, list_settings
from gymposium_train.config.unused import USES, find_unused
from gymposium_train.config.writing import config_to_data
from gymposium_train.run.measures import list_panel

BASE = build_config({"games": ["tic_tac_toe"]})


def list_problems(*overrides: str, at_hand: bool = False) -> Sequence[str]:
    """What is said of the defaults with these settings."""
    config = change_config(BASE, *overrides)
    try:
        check_config(config, at_hand=at_hand)
    except BadConfig as error:
        return error.problems
    return ()


def test_run_without_any_steps_is_refused_once() -> None:
    [found] = list_problems("teacher=exact", "steps=0", "cold_start.steps=0")
    assert found.startswith("steps = 0: with cold_start.steps = 0, there is nothing to learn")


@pytest.mark.parametrize("player", ["teacher=exact", "stages.0.opponents={exact=1}", 'evaluation.opponents=["exact"]'])
def test_games_that_are_too_large_to_solve_are_refused(player: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium.analysis.exact.players.MOST_POSITIONS", 100)
    [found] = list_problems('games=["hex"]', player)
    assert re.match(r"\S+: hex has more than 100 positions", found)


def test_defaults_make_sense() -> None:
    check_config(TrainConfig(games=("tic_tac_toe",)))
    check_config(TrainConfig(games=("tic_tac_toe", "kuhn_poker", "2048"), control=True))


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
def test_defaults_make_sense_for_any_number_of_seats(seats: int) -> None:
    game = load_game(f"universal_poker(players={seats})")
    config = TrainConfig(games=(game.name, "tic_tac_toe"))
    check_config(config)
    for matches, default in zip(list_panel(config.evaluation, game).values(), (1000, 200), strict=True):
        assert matches % seats == 0
        assert default <= matches < default + seats


GAE = "credit.kind=gae"


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (("steps=0", "cold_start.steps=0"), "there is nothing to learn"),
        (("teacher=exact", "prompting.reply=tags"), "teacher = exact: it recommends moves, but with"),
        (
            ("teacher=exact", "cold_start.steps=0", "distillation.weight=0"),
            "cold_start.steps = 0), and distillation.weight = 0",
        ),
        (("teacher=exact", 'cold_start.data=["chats.jsonl"]'), "either from a teacher or from cold_start.data"),
        (("teacher=exact", "sft.weight=0.1"), "would undo what the teacher taught"),
        (("teacher=exact", "control=true"), "so it is no comparison"),
        (("teacher=lm:big", "model.name=some/model", "distillation.weight=0"), "nothing is learned from them"),
        (
            ("teacher=lm:big?engine=vllm", "model.name=some/model", "prompting.temperature=0.7"),
            "teacher: lm:big?engine=vllm: a vLLM server scores tokens only at temperature 1, but",
        ),
        (
            ("teacher=lm:big?engine=http://127.0.0.1:9", "model.name=some/model", "prompting.temperature=0.7"),
            "Set prompting.temperature=1, or omit engine=",
        ),
        (("credit.kind=off",), "learns only from a teacher. Set teacher, or another credit"),
        (
            ("teacher=exact", "credit.kind=off", "distillation.weight=0"),
            "learns only from a teacher. Set distillation.weight above 0, or another credit",
        ),
        (("teacher=exact", "cold_start.budget=300"), "leaves nothing of budget=300 for reinforcement learning"),
        (("teacher=exact", 'games=["pig"]'), "teacher: pig cannot be solved"),
        (("teacher=exact", 'games=["mail"]'), "teacher: mail cannot be solved"),
        (("teacher=tables-expert", 'games=["mail"]'), "teacher: tables-expert plays only tables, not mail"),
        (
            ("teacher=mail-expert", 'games=["mail"]', "credit.kind=off"),
            "credit.kind = off: mail has no list of legal moves to label",
        ),
        (("teacher=expectimax-2",), "teacher: expectimax-2 plays only 2048, not tic_tac_toe"),
        (("teacher=human",), "teacher human: a person can play only one match"),
        (("teacher=expert",), "teacher: Unknown player 'expert'"),
        (("steps=0", "control=true"), "control = true: the control spends"),
        (
            (GAE, "credit.critic.warmup=40", "steps=40"),
            "credit.critic.warmup = 40: only the critic learns",
        ),
        (("rollout.group_size=1", "credit.kind=grpo"), "credit.kind=grpo compares the matches of a group"),
        (("rollout.group_size=1", "credit.kind=rloo"), "credit.kind=rloo compares the matches of a group"),
        (("rollout.group_size=1", "credit.kind=gigpo"), "credit.kind=gigpo compares the matches of a group"),
        (
            ("rollout.group_size=1", "credit.kind=rae", "reward=ruler(m?base_url=http://127.0.0.1:9/v1)"),
            "reward=ruler(m?base_url=http://127.0.0.1:9/v1) compares the matches of a group",
        ),
        *(
            (
                ("rollout.replace_tied=2", f"credit.kind={kind}"),
                f"credit.kind={kind} also learns from groups with equal",
            )
            for kind in ("gae", "gigpo", "baseline", "rae")
        ),
        (
            ("rollout.replace_tied=2", "credit.kind=grpo", "reward=ruler(m?base_url=http://127.0.0.1:9/v1)"),
            "asks a judge, which would have to rate each group twice",
        ),
        (
            ("rollout.replace_tied=2", "credit.kind=grpo", "kl.weight=0.1", "kl.estimator=k1"),
            "rollout.replace_tied = 2: kl.estimator=k1 changes the reward of each match",
        ),
        (
            ("overlong.mode=penalize", "overlong.buffer=30", "prompting.max_tokens=24"),
            "overlong.buffer = 30: more than prompting.max_tokens=24",
        ),
        (("reward=clipped(1)", "credit.kind=grpo"), "credit.kind=grpo uses the reward of whole matches"),
        (("credit.kind=gigpo", "prompting.context=full"), "prompting.context = full: credit.kind=gigpo compares turns"),
        (("model.tune=full", "model.load=4bit"), "model.load = 4bit: quantized weights cannot be trained"),
        (
            ("engine.kind=vllm", "model.load=4bit"),
            "a server started for the run serves unquantized weights",
        ),
        (("engine.staleness=1",), "engine.staleness = 1: with engine.kind=shared"),
        (("engine.schedule=streaming",), "engine.schedule = streaming: with engine.kind=shared"),
        (
            ("optimizer.checkpointing=true", "optimizer.layout=shared"),
            "optimizer.checkpointing = true: optimizer.layout=shared",
        ),
        (("prompting.on_illegal=retry(2)",), "a reply that was not played would share the credit"),
        (("prompting.on_illegal=random",), "a reply that was not played would share the credit"),
        (("prompting.on_illegal=shrug",), "prompting.on_illegal: Unknown policy on_illegal='shrug'"),
        (("prompting.thinking=true",), "prompting.thinking = true: with prompting.reply=move"),
        (
            ('games=["mail"]', "prompting.reply=tools"),
            "prompting.reply = tools: the chat template of a run's small model does not support tools",
        ),
        (
            ('games=["mail","tic_tac_toe"]', "prompting.reply=tools", "model.name=some/model"),
            "prompting.reply: tools: tic_tac_toe has no tools to call. Use move, tags or json.",
        ),
        (
            ('games=["mail"]', "prompting.reply=tools-hermes", "model.name=some/model"),
            "tools-hermes is the dialect of some models. Use tools",
        ),
        (("entropy.weight=0.1", "prompting.reply=tags"), "entropy.weight = 0.1: the bonus covers replies that"),
        (("entropy.weight=0.1", "prompting.reply=json"), "with prompting.reply=json, replies contain other text"),
        (("entropy.weight=0.1", 'games=["tic_tac_toe","trace"]'), "trace takes free text"),
        (('games=["qa"]',), "imitates random play, which is not possible in qa"),
        (('evaluation.opponents=["random","random"]',), "evaluation.opponents: duplicate opponent random"),
        (('games=["tic_tac_toe","tic_tac_toe"]',), "games: duplicate game tic_tac_toe"),
        (('games=["tic_tac_tow"]',), "games: Unknown game 'tic_tac_tow'. Did you mean 'tic_tac_toe'"),
        (("reward=winnings",), "reward: Unknown reward 'winnings'"),
        (("reward=weighted(acuracy=1)",), "Did you mean 'accuracy'"),
        (("prompting.reply=tag",), "prompting.reply: Unknown reply form 'tag'. Did you mean 'tags'"),
        (("prompting.context=ful",), "prompting.context: Unknown context 'ful'. Did you mean 'full'"),
        (("stages.0.opponents.randon=1",), "stages: Unknown player 'randon'. Did you mean 'random'"),
        (('evaluation.opponents=["mcts"]',), "evaluation.opponents: Unknown player 'mcts'"),
        (("loggers.nowhere={}",), "loggers: Unknown logger 'nowhere'"),
        (('cold_start.data=["no/such.jsonl"]',), "cold_start.data: file no/such.jsonl not found"),
        (('games=["2048"]', "stages.0.opponents.self=1"), "stages: these are single-player games"),
        (("stages.0.demote=0.3",), "there is no stage before the first"),
        (('games=["openspiel:gin_rummy"]',), "mcts-100 does not play openspiel:gin_rummy"),
        (("stages.0.opponents.cfr-10=1",), "stages: tic_tac_toe has perfect information"),
        (("stages.0.opponents={hold-20=1}",), "stages: hold-20 plays only pig, not tic_tac_toe"),
        (
            ('games=["tic_tac_toe","pig"]', 'evaluation.opponents=["exact"]'),
            "evaluation.opponents: pig cannot be solved",
        ),
        (("stages.0.opponents={human=1}",), "stages: opponent human: a person can play only one match"),
    ],
)
def test_nonsensical_combinations_are_refused_with_a_reason(overrides: tuple[str, ...], said: str) -> None:
    found = list_problems(*overrides)
    assert any(said in problem for problem in found), found


@pytest.mark.parametrize(
    "overrides",
    [
        (GAE, "credit.critic.warmup=5", "rollout.group_size=1", "rollout.growth=1"),
        ("credit.kind=gigpo", "credit.gamma=0.9", "credit.step_weight=0.5"),
        ("engine.kind=own", "engine.staleness=2", "engine.schedule=streaming"),
        ("engine.kind=vllm", "model.tune=full", "engine.exchange=/dev/shm"),
        ("objective.aggregate=8",),
        ("optimizer.checkpointing=true", "optimizer.layout=packed"),
        ("credit.kind=rae", "stages.0.opponents={self=1, past=1}", "pool.size=3"),
        ('games=["goofspiel"]', "credit.kind=rae", "stages.0.opponents={self=1}"),
        ('games=["2048","tic_tac_toe"]', "stages.0.opponents={self=1}"),
        (
            "prompting.thinking=true",
            "prompting.reply=tags",
            "prompting.context=truncated",
            "prompting.on_illegal=penalty(0.1)",
        ),
        ("model.load=4bit", "model.name=some/model"),
        ("kl.weight=0.1", "kl.refresh=5", "kl.estimator=k1"),
        ("entropy.weight=0.1", "entropy.final_share=0.5", 'games=["tic_tac_toe","2048"]'),
        ("teacher=auto", 'games=["pig", "2048"]'),
        ("teacher=mcts-1000", "cold_start.budget=200"),
        ("teacher=mcts-1000", "cold_start.steps=0"),
        ("teacher=exact", "steps=0", "cold_start.budget=1000"),
        ("teacher=exact", "steps=3", "cold_start.steps=50"),
        ('games=["trace"]', "cold_start.steps=0"),
        ('games=["mail"]', "model.name=some/model", "prompting.reply=tools", "prompting.thinking=true"),
    ],
)
def test_sensible_combinations_are_accepted(overrides: tuple[str, ...]) -> None:
    assert list_problems(*overrides) == ()


@pytest.mark.parametrize(
    "overrides",
    [
        ("entropy.final_share=0.5",),
        ("optimizer.target_kl=0.2", "optimizer.epochs=1", "optimizer.minibatches=1"),
        ("model.small.layers=4", "model.name=some/model"),
        ("model.lora.rank=8",),
        ('engine.devices=["0"]', "engine.kind=vllm", "model.tune=lora", "engine.url=http://127.0.0.1:8123"),
        ("engine.servers=2", "engine.kind=vllm", "model.tune=lora", "engine.url=http://127.0.0.1:8123"),
        ("pool.size=4",),
        ("cold_start.batch=8", "cold_start.steps=0"),
        ("cold_start.budget=10",),
        ("cold_start.steps=50", "teacher=exact"),
        ("cold_start.keep=all", "teacher=exact"),
        ("distillation.weight=0.5",),
        ("distillation.weight=0.5", "teacher=exact", "steps=0"),
        ("distillation.final_share=0.5", "distillation.weight=0", "teacher=exact"),
        ("budget=100", "steps=3"),
        ("rollout.decisions=64", "rollout.groups=4"),
        ("evaluation.curve_matches=10", "evaluation.every=0"),
    ],
)
def test_settings_without_effect_are_refused(overrides: tuple[str, ...]) -> None:
    name = overrides[0].partition("=")[0]
    [found] = list_problems(*overrides)
    assert found.startswith(f"{name} = ")
    assert ": it has an effect only " in found


def test_every_use_names_existing_settings() -> None:
    assert {name for use in USES for name in use.settings} <= {format_path(path) for path, _ in list_settings()}


def test_all_problems_are_reported_at_once() -> None:
    found = list_problems("engine.staleness=1", "reward=winnings", "pool.size=5")
    assert [one.partition(" ")[0].rstrip(":,") for one in found] == [
        "engine.staleness",
        "pool.size",
        "reward",
    ]


def test_missing_models_are_reported_only_on_lookup(tmp_path: Path) -> None:
    overrides = (f"model.name={tmp_path}/none", f'stages.0.opponents."lm:{tmp_path}/other"=1')
    assert list_problems(*overrides) == ()
    found = list_problems(*overrides, at_hand=True)
    assert [one.partition(":")[0] for one in found] == ["stages", "model.name"]


@pytest.mark.parametrize("named", [False, True])
def test_unknown_layers_are_reported_before_the_cold_start(
    named: bool, model_directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = ("model.tune=lora", *((f"model.name={model_directory}",) if named else ()))
    wrong = (*model, 'model.lora.targets=["q_proj","w_proj"]')
    if named:  # the layers of the small model are known before there is one
        assert list_problems(*wrong) == ()
    [found] = list_problems(*wrong, at_hand=named)
    assert found.startswith("model.lora.targets: A LoRA cannot target w_proj. Use linear layers of the model")
    assert list_problems(*model, 'model.lora.targets=["q_proj","v_proj"]', at_hand=True) == ()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("build", ["cpu", "cuda"])
def test_server_problems_are_reported_before_the_cold_start(
    build: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = EngineHome(tmp_path)
    monkeypatch.setenv(HOME_VARIABLE, str(home.root))
    small = ("engine.kind=vllm", "model.tune=lora", "model.small.heads=4")
    assert list_problems(*small) == ()
    [found] = list_problems(*small, at_hand=True)
    assert found.startswith("engine.kind = vllm: There is no complete installation")
    assert "gymposium engine setup" in found
    assert list_problems(*small, "engine.url=http://127.0.0.1:9", at_hand=True) == ()  # another has started it
    assert list_problems(*small, "steps=0", at_hand=True) == (found,)  # evaluations are played by the engine

    home.python.parent.mkdir(parents=True)
    home.python.symlink_to(sys.executable)
    home.marker.write_text(json.dumps({"build": build}), encoding="utf-8")
    found_then = list_problems(*small, at_hand=True)
    if build == "cuda":
        assert found_then == ()
    else:
        [found] = found_then
        assert "its attention heads are 16 wide" in found
    assert list_problems("engine.kind=vllm", "model.tune=lora", "model.small.heads=2", at_hand=True) == ()


def test_four_bit_requirements_are_checked_before_the_cold_start(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bitsandbytes")
    overrides = ("model.load=4bit", "model.tune=lora")
    assert list_problems(*overrides, at_hand=True) == ()
    monkeypatch.setattr(
        "gymposium_agents.modeling.quantized.find_spec", lambda name: None
    )  # as where it is not installed
    [found] = list_problems(*overrides, at_hand=True)
    assert found.startswith("model.load: bitsandbytes")
    assert 'pip install "gymposium-agents[quantized]"' in found


def test_full_training_of_named_models_skips_the_cold_start() -> None:
    """The default learning rate of its cold start is that of all weights, and has no effect."""
    config = build_config({"games": ["kuhn_poker"], "model": {"name": "some/model", "tune": "full"}})
    assert config.cold_start.steps == 0
    assert list(find_unused(config)) == []
    assert list(find_unused(build_config(config_to_data(config)))) == []


@pytest.mark.slow
def test_teacher_of_tokens_needs_the_learners_tokenizer_and_template(
    model_directory: Path, tmp_path: Path, game_texts: list[str], tiny_size: SmallModel
) -> None:
    learner, teacher, other = (tmp_path / name for name in ("learner", "teacher", "other"))
    for copy in (learner, teacher):
        shutil.copytree(model_directory, copy, ignore=shutil.ignore_patterns(PlayerSettings.FILE))
    make_small_model(other, [text.upper() for text in game_texts], seed=1, size=tiny_size)
    settings = (f"model.name={learner}", "steps=3", "legality.weight=0")
    assert list_problems(*settings, f"teacher=lm:{teacher}", at_hand=True) == ()
    [found] = list_problems(*settings, "teacher=lm:no/such/model", at_hand=True)
    assert found.startswith("teacher: ")
    [found] = list_problems(*settings, f"teacher=lm:{other}", at_hand=True)
    assert found.startswith(f"teacher: lm:{other} scores the learner's tokens, but its tokenizer is another one.")
    template = teacher / "chat_template.jinja"
    template.write_text("{{ 'x' }}" + template.read_text("utf-8"), "utf-8")
    [found] = list_problems(*settings, f"teacher=lm:{teacher}", at_hand=True)
    assert "has a chat template that differs" in found
