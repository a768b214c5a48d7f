"""Configs are parsed strictly, report all problems at once, and round-trip through their text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from gymposium.errors import BadOption
from gymposium.util.strict_json import LARGEST_INTEGER
from gymposium_train.config import schema
from gymposium_train.config.checks import find_contradictions
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.reading import (
    build_config,
    change_config,
    merge_data,
    parse_json_config,
    parse_toml_config,
    read_config,
)
from gymposium_train.config.schedules import RunProgress, compute_entropy_weight, compute_growth, compute_learning_rate
from gymposium_train.config.writing import config_to_data, config_to_json, config_to_toml
from gymposium_train.credit.gae import GaeSettings
from gymposium_train.credit.rae import RaeSettings
from gymposium_train.credit.rloo import RlooSettings

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
BASE = build_config({"games": ["tic_tac_toe"]})


def values(node: schema.Node) -> st.SearchStrategy[Any]:
    """Data that the schema allows; optional settings are sometimes omitted."""
    node = schema.resolve_node(node)
    match node.get("type"):
        case _ if "oneOf" in node or "anyOf" in node:
            return st.one_of(*map(values, node.get("oneOf", node.get("anyOf"))))
        case _ if "enum" in node:
            return st.sampled_from(node["enum"])
        case _ if "const" in node:
            return st.just(node["const"])
        case _ if node.get("title") == "SmallModel":
            return st.builds(
                lambda heads, times: {"hidden": 2 * heads * times, "heads": heads}, *[st.integers(1, 9)] * 2
            )
        case "integer":
            return st.integers(node.get("minimum", -LARGEST_INTEGER), node.get("maximum", LARGEST_INTEGER))
        case "number":
            above, below = "exclusiveMinimum" in node, "exclusiveMaximum" in node
            least, most = node.get("exclusiveMinimum", node.get("minimum", 0)), node.get("maximum")
            most = node.get("exclusiveMaximum", most)
            return st.floats(least, most, exclude_min=above, exclude_max=below, allow_nan=False, allow_infinity=False)
        case "string":
            return TEXT
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(values(node["items"]), min_size=node.get("minItems", 0), max_size=3)
        case _ if "properties" in node:
            below_it = {name: values(found) for name, found in node["properties"].items()}
            if node.get("title") == "VllmSettings":  # checks these itself, so its schema does not say them
                below_it["at_once"] = st.none() | st.integers(1, LARGEST_INTEGER)
                below_it["url"] = st.none() | st.sampled_from(["http://a", "http://a:8000,http://b:8000"])
                below_it["servers"] = st.integers(1, 3)
                below_it["devices"] = st.just([]) | st.lists(TEXT, min_size=6, max_size=6)
                below_it["request_seconds"] = st.floats(0.001, 1e9)
            chooses = [name for name, found in node["properties"].items() if "const" in found]
            needed = {name: below_it.pop(name) for name in (*node.get("required", ()), *chooses)}
            return st.fixed_dictionaries(needed, optional=below_it)
    each = node["additionalProperties"]
    inside = (
        values(each)
        if isinstance(each, dict)
        else TEXT | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER) | st.booleans() | st.lists(TEXT)
    )
    return st.dictionaries(TEXT, inside, min_size=node.get("minProperties", 0), max_size=3)


@given(data=values(schema.load_schema()))
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40)
def test_configs_round_trip(data: dict[str, Any]) -> None:
    config = build_config(data)
    assert parse_toml_config(config_to_toml(config)) == config
    assert parse_json_config(config_to_json(config)) == config
    assert build_config(config_to_data(config)) == config


def test_optional_settings_default_to_none() -> None:
    """TOML cannot write None, so another default could never be reverted."""
    for path, node in schema.list_settings():
        if any(option.get("type") == "null" for option in node.get("anyOf", [])):
            assert node["default"] is None, schema.format_path(path)


def test_every_setting_is_documented_and_has_a_default_or_is_required() -> None:
    for path, node in schema.list_settings():
        name = schema.format_path(path)
        assert node.get("description"), name
        is_setting = not {"properties", "oneOf"} & node.keys()
        assert not is_setting or "default" in node or name in ("games", "kl.weight", "sft.weight"), name


@pytest.mark.parametrize(
    ("data", "problems"),
    [
        (
            {"games": "kuhn_poker"},
            [
                'games = "kuhn_poker": it must be a list, each entry text, or a table of names, each with ',
                "a number, above 0.",
            ],
        ),
        ({"games": {"a": 0}}, ['games = {"a": 0}: it must be']),
        ({"games": ["a"], "seed": "3"}, ['seed = "3": it must be a whole number.']),
        ({"games": ["a"], "seed": 3.0}, ["seed = 3.0: it must be a whole number."]),
        ({"games": ["a"], "control": 1}, ["control = 1: it must be true or false."]),
        ({"games": ["a"], "stepz": 3}, ["stepz: unknown setting. Did you mean steps?"]),
        (
            {"games": ["a"], "optimizer": {"lerning_rate": 1}},
            ["optimizer.lerning_rate: unknown setting. Did you mean optimizer.learning_rate?"],
        ),
        (
            {"games": ["a"], "token_budget": 1},
            ["token_budget: unknown setting. Did you mean optimizer.token_budget?"],
        ),
        (
            {"games": ["a"], "model": {"small": {"layer": 2}}},
            ["model.small.layer: unknown setting. Did you mean model.small.layers?"],
        ),
        (
            {"games": ["a"], "model": {"small": {"hidden": 97}}},
            ["A small model's hidden size of 97", "a multiple of 4"],
        ),
        (
            {"games": ["a"], "stages": [{}, {"promot": 1}]},
            ["stages.1.promot: unknown setting. Did you mean stages.1.promote?"],
        ),
        (
            {"games": ["a"], "stages": [{"opponents": {"mcts-5": -1}}]},
            ["stages.0.opponents.mcts-5 = -1: it must be a number, above 0."],
        ),
        (
            {"games": ["a"], "credit": {"kind": "gae", "critic": {"clip": True}}},
            ["credit.critic.clip = true: it must be a number, above 0."],
        ),
        ({"games": ["a"], "critic": {}}, ["critic: unknown setting. Did you mean credit.critic?"]),
        ({"games": ["a"], "credit": 3}, ["credit = 3: it must be a table."]),
        (
            {"games": ["a"], "credit": {"kind": "grpo", "lam": 0.9}},
            [
                "credit.lam: unknown setting. It belongs to credit.kind=gae, but credit.kind=grpo.",
                "Omit it (credit.lam=), or change credit.kind.",
            ],
        ),
        (
            {"games": ["a"], "credit": {"kind": "rae", "gamma": 0.9}},
            ["It belongs to credit.kind=gae or credit.kind=gigpo, but credit.kind=rae."],
        ),
        ({"games": ["a"], "credit": {"decai": 0.9, "kind": "rae"}}, ["Did you mean credit.decay?"]),
        ({"games": ["a"], "kl": {"weight": -1.0}}, ["kl.weight = -1.0: it must be a number, 0 or more."]),
        ({"games": ["a"], "mismatch": {"cap": 3.0}}, ["It belongs to mismatch.kind=decoupled"]),
        (
            {"games": ["a"], "objective": {"aggregate": "constant"}},
            ['objective.aggregate = "constant": it must be one of token, turn and sequence, or a number, above 0.'],
        ),
        (
            {"games": ["a"], "objective": {"kind": "pg", "cap": 0.5}},
            ["objective.cap = 0.5: it must be a number, 1 or more."],
        ),
        (
            {"games": ["a"], "credit": {"kind": "grop"}},
            ['credit.kind = "grop": it must be one of grpo, rloo, baseline, rae, gae, gigpo and off.'],
        ),
        ({"games": ["a"], "kl": {"weight": float("inf")}}, ["kl.weight = Infinity: it must be a finite number."]),
        ({"games": ["a"], "loggers": {"x": {"y": float("nan")}}}, ["loggers.x.y = NaN"]),
        ({"games": ["a"], "zzz": 1}, ["zzz: unknown setting. Known settings: backend, budget, "]),
        (
            {"games": 3, "steps": -1, "optimizer": {"epochs": 0, "beta": 1}},
            [
                "4 settings are invalid:",
                "games = 3",
                "steps = -1: it must be a whole number, 0 or more",
                "epochs",
                "beta",
            ],
        ),
    ],
)
def test_problems_name_path_value_and_alternatives(data: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(BadConfig) as caught:
        build_config(data)
    for problem in problems:
        assert problem in str(caught.value)


def test_overrides_are_toml_or_bare_words() -> None:
    config = change_config(
        BASE,
        "optimizer.learning_rate=1e-5",
        'games=["tic_tac_toe", "kuhn_poker"]',
        "model.name=Qwen/Qwen3-0.6B",
        "reward=weighted(accuracy=1,efficiency=0.2)",
        "stages.0.promote = 0.8",
        "stages.0.opponents.mcts-5=1",
        'stages.0.opponents."lm:tiny?context=full"=2',
        "control=true",
        "loggers.tensorboard.every=3",
    )
    assert config.optimizer.learning_rate == 1e-5
    assert config.games == ("tic_tac_toe", "kuhn_poker")
    assert config.model.name == "Qwen/Qwen3-0.6B"
    assert config.reward == "weighted(accuracy=1,efficiency=0.2)"
    assert config.stages[0].promote == 0.8
    assert config.stages[0].opponents == {"random": 1.0, "mcts-5": 1.0, "lm:tiny?context=full": 2.0}
    assert config.control is True
    assert config.loggers == {"tensorboard": {"every": 3}}
    back = change_config(config, "model.name=", "stages=", 'games=["tic_tac_toe"]', "reward=", "control=", "loggers=")
    assert change_config(back, "optimizer.learning_rate=") == BASE


def test_games_may_have_shares() -> None:
    config = change_config(BASE, "games={connect_four = 2, mail = 1}", "seed=4")
    assert config.games == {"connect_four": 2.0, "mail": 1.0}
    assert config.game_shares == (2.0, 1.0)
    assert parse_toml_config(config_to_toml(config)) == config
    assert parse_json_config(config_to_json(config)) == config
    assert change_config(config, "games.mail=3").game_shares == (2.0, 3.0)
    assert BASE.game_shares == (1.0,)
    served = change_config(config, "source.kind=sessions", "engine.kind=own", "steps=3", "reward=posted")
    assert any(problem.startswith("games: shares divide") for problem in find_contradictions(served))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("steps", "not of the form NAME=VALUE"),
        ("=3", "not of the form NAME=VALUE"),
        ("games=[tic_tac_toe]", "the value is not valid TOML"),
        ("stages.1.promote=0.5", "index 1 is invalid. stages has 1 entry, counted from 0"),
        ("stages.0=", "list entries have no default"),
        ("seed.x=3", "seed is 0, which has no nested settings"),
        ("optimizer.learning_rat=1", "Did you mean optimizer.learning_rate"),
        ("model.name=7", "model.name = 7: it must be text"),
        ("steps=2.5", "steps = 2.5: it must be a whole number, 0 or more"),
        ("model.lora.rank=513", "model.lora.rank = 513: it must be a whole number, 1 or more and 512 or less"),
        ("steps=2020-01-01", 'steps = "2020-01-01"'),
    ],
)
def test_invalid_overrides_are_refused(override: str, message: str) -> None:
    with pytest.raises(BadOption) as caught:
        change_config(BASE, override)
    assert message in str(caught.value)


def test_changing_the_kind_resets_its_table() -> None:
    gae = change_config(BASE, "credit.kind=gae", "credit.critic.warmup=3", "credit.normalise=false")
    assert isinstance(gae.credit, GaeSettings)
    assert (gae.credit.critic.warmup, gae.credit.normalise) == (3, False)
    assert change_config(gae, "credit.kind=rloo").credit == RlooSettings()
    assert change_config(gae, "credit.decay=0.5", "credit.kind=rae").credit == RaeSettings(decay=0.5)
    assert change_config(change_config(BASE, "credit.kind=rloo"), "credit.kind=").credit == BASE.credit == GaeSettings()
    assert change_config(gae, "credit.kind=gae") == gae
    layers = merge_data({"credit": {"kind": "gae", "lam": 0.9}}, {"credit": {"kind": "rae"}})
    assert layers == {"credit": {"kind": "rae"}}
    assert change_config(change_config(BASE, "kl.weight=0.3"), "kl=").kl == BASE.kl


def test_refuses_duplicate_overrides() -> None:
    with pytest.raises(BadOption, match="steps=1 and steps=2 both set steps"):
        change_config(BASE, "steps=1", "steps=2")


def test_file_format_follows_the_extension(tmp_path: Path) -> None:
    toml, run = tmp_path / "mine.toml", tmp_path / "config.json"
    toml.write_text('games = ["kuhn_poker"]\nseed = 0x10\n[optimizer]\nepochs = 3\n', encoding="utf-8")
    run.write_text(config_to_json(BASE), encoding="utf-8")
    assert read_config(toml) == change_config(BASE, 'games=["kuhn_poker"]', "seed=16", "optimizer.epochs=3")
    assert read_config(run) == BASE
    for text, message in (
        ("games = [", "is not valid TOML"),
        ("seed = 1979-05-27", 'seed = "1979-05-27": no setting has'),
    ):
        toml.write_text(text, encoding="utf-8")
        with pytest.raises(BadOption, match=message):
            read_config(toml)
    run.write_text("[1]", encoding="utf-8")
    with pytest.raises(BadOption, match="must be a table of settings"):
        read_config(run)
    with pytest.raises(BadOption, match="Cannot read the config"):
        read_config(tmp_path / "nowhere.toml")


def test_layers_merge_by_table() -> None:
    first = {"games": ["a"], "optimizer": {"epochs": 3, "minibatches": 4}, "stages": [{"promote": 0.5}, {}]}
    assert merge_data(first, {"optimizer": {"epochs": 1}, "stages": [{}]}) == {
        "games": ["a"],
        "optimizer": {"epochs": 1, "minibatches": 4},
        "stages": [{}],
    }
    assert first["optimizer"] == {"epochs": 3, "minibatches": 4}


def test_group_sizes_grow_and_rates_fall() -> None:
    config = change_config(
        BASE,
        *("steps=5", "rollout.group_size=10", "rollout.growth=4", "entropy.weight=0.1", "entropy.final_share=0"),
        "optimizer.warmup_steps=2",
    )
    pace = RunProgress(config)
    assert [round(10 * compute_growth(config, pace(step))) for step in range(5)] == [10, 14, 20, 28, 40]
    assert [compute_entropy_weight(config, pace(step)) for step in (0, 4)] == [0.1, 0.0]
    rate = config.optimizer.learning_rate
    assert compute_learning_rate(config, pace(0), 0) == rate / 2
    assert compute_learning_rate(config, pace(4), 4) == pytest.approx(rate * config.optimizer.final_rate)
    assert [pace.is_over(done) for done in (0, 4, 5)] == [False, False, True]


@pytest.mark.parametrize(
    ("schedule", "shares"),
    [
        ("linear", [1.0, 0.775, 0.55, 0.325, 0.1]),
        ("cosine", [1.0, 0.8682, 0.55, 0.2318, 0.1]),
        ("constant", [1.0, 1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_learning_rate_follows_its_schedule(schedule: str, shares: list[float]) -> None:
    config = change_config(BASE, "steps=5", "optimizer.warmup_steps=0", f"optimizer.schedule={schedule}")
    rates = [compute_learning_rate(config, RunProgress(config)(step), step) for step in range(5)]
    assert [rate / config.optimizer.learning_rate for rate in rates] == pytest.approx(shares, abs=1e-4)


@pytest.mark.parametrize("wrong", ["beta1=1", "beta2=-0.1", "weight_decay=-1", "schedule=step"])
def test_adamw_settings_are_validated(wrong: str) -> None:
    with pytest.raises(BadOption, match=rf"optimizer\.{wrong.partition('=')[0]}"):
        change_config(BASE, f"optimizer.{wrong}")


@pytest.mark.parametrize(("used", "shown"), [(82.0, [(0, 18), (18, 18)]), (118.0, [(0, 1), (1, 1)])])
def test_progress_bar_stays_within_its_length_after_a_slow_cold_start(used: float, shown: list[Any]) -> None:
    pace = RunProgress(change_config(BASE, "budget=100"), used=used)
    found = [(pace.count_done(0), pace.work)]
    pace.step(64.0)
    assert [*found, (pace.count_done(1), pace.work)] == shown


def test_budget_is_used_up_for_any_step_cost() -> None:
    """It ends with the step that comes nearest to it, and is counted from what the cold start left of it."""
    pace = RunProgress(change_config(BASE, "budget=100"), used=40.0)
    assert pace(0) == 0.0
    progress = []
    for step, seconds in enumerate((20.0, 16.0, 12.0, 7.0)):
        assert not pace.is_over(step)
        pace.step(seconds)
        progress.append(pace(step + 1))
    assert progress == pytest.approx([1 / 3, 0.6, 0.8, 55 / 60])
    assert not pace.is_over(4)
    pace.step(4.0)
    assert pace.is_over(5)
    late = RunProgress(change_config(BASE, "budget=100"), used=130.0)
    assert not late.is_over(0), "a run takes one step at least"
    late.step(1.0)
    assert late.is_over(1)


def test_importing_configs_does_not_load_torch() -> None:
    program = (
        "import sys, gymposium_train.cli.train\n"
        "from gymposium_train import TrainConfig, Callback\n"
        "from gymposium_train.config.checks import check_config\n"
        "check_config(TrainConfig(games=('tic_tac_toe',)))\n"
        "print(sorted({'torch', 'transformers', 'peft'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.replace("'", '"')) == []
