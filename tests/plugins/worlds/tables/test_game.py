"""The game `tables`: tasks, its player, and scores."""

import asyncio
import json
from statistics import mean

import pytest

from gymposium import load_game
from gymposium.errors import BadParameter, BadRecord
from gymposium.match import MatchJob, play
from gymposium.players.protocol import MatchContext
from gymposium.tasks import ToolGame
from gymposium.tasks.tools import Call, format_calls
from gymposium_testing import QUICK, GameConformance
from gymposium_worlds.tables.answers import Answer
from gymposium_worlds.tables.expert import TablesExpert
from gymposium_worlds.tables.tasks import TablesTasks
from gymposium_worlds.tables.world import TablesWorld


class TestTables(GameConformance):
    game = "tables"
    effort = QUICK


def tables(**params: object) -> ToolGame:
    game = load_game("tables", **params)
    assert isinstance(game, ToolGame)
    return game


def open_world(tasks: TablesTasks, seed: int) -> TablesWorld:
    return asyncio.run(tasks.open(tasks.task(seed)))


def call(world: TablesWorld, name: str, text: str) -> str:
    argument = {"query": "sql", "answer": "value"}[name]
    return asyncio.run(world.call(Call(name, {argument: text}))).text


@pytest.mark.parametrize(
    "params", [{}, {"split": "test", "rows": 20}, {"split": "test", "rows": 400, "kinds": "join+sum"}]
)
def test_expert_is_always_right(params: dict[str, object]) -> None:
    world = tables(**params)
    for played in play([MatchJob(f"m{seed}", world, [TablesExpert()], seed) for seed in range(40)]):
        assert played.returns == (1.0,), played.events


@pytest.mark.parametrize("sql", ["SELECT nothing FROM nowhere", ""])
def test_expert_recovers_from_a_failed_call(sql: str) -> None:
    """As the teacher of a model, it is asked after the model's calls."""
    match = tables(kinds="lookup").new(1)
    context, expert = MatchContext(match, "match", 0), TablesExpert()
    expert.act([context.ask(0)])
    match.apply({0: format_calls([Call("query", {"sql": sql})])})
    while match.to_move():
        [reply] = expert.act([context.ask(0)])
        match.apply({0: reply.text})
    assert match.returns() == (1.0,)


def test_records_replay_to_the_same_results() -> None:
    world = tables()
    (played,) = play([MatchJob("m", world, [TablesExpert()], 5)])
    loaded = world.load(played.events[:-2], 5)
    loaded.apply({0: played.events[-2].move})  # the query is run again before the answer
    assert loaded.events == played.events
    assert loaded.returns() == played.returns


def test_always_unknown_scores_between_guessing_and_half() -> None:
    for kinds in ("all", "lookup+absent"):
        tasks = TablesTasks(20, kinds, "train", 8)
        answers = [Answer(**tasks.task(seed)["answer"]) for seed in range(200)]
        assert mean(answer.score("1") for answer in answers) < mean(answer.score("unknown") for answer in answers) < 0.5


def test_report_counts_queries_and_errors() -> None:
    world = open_world(TablesTasks(60, "all", "train", 8), 1)
    names = set(world.report())
    assert world.score() == 0.0
    assert call(world, "query", "SELECT 1 AS x") == "x\n1\n(1 row)"
    assert call(world, "query", "DROP TABLE x").startswith("Write a query")
    assert not world.over()
    call(world, "answer", "Unknown ")
    assert world.over()
    report = world.report()
    assert set(report) == names
    assert (report["queries"], report["errors"], report["unknown"]) == (2.0, 1.0, 1.0)
    assert report["exact"] == float(world.score() == 1.0)


def test_opening_shows_tables_without_the_answer() -> None:
    tasks = TablesTasks(60, "superlative", "test", 8)
    for seed in range(20):
        task, world = tasks.task(seed), open_world(tasks, seed)
        for style in ("full", "compact"):
            opening = world.opening(style)
            assert task["text"] in opening
            assert f" {task['answer']['value']} " not in opening
            assert json.loads(json.dumps(task)) == task
        assert world.opening("full").count("CREATE TABLE") == 4


def test_tasks_depend_only_on_the_seed() -> None:
    one, same = TablesTasks(60, "all", "train", 8), TablesTasks(60, "all", "train", 8)
    assert one == same
    assert hash(one) == hash(same)
    tasks = [one.task(seed) for seed in range(30)]
    assert [same.task(seed) for seed in range(30)] == tasks
    assert len({task["text"] for task in tasks}) == 30
    assert {task["world"].partition("-")[0] for task in tasks} == {"train"}
    assert TablesTasks(60, "all", "test", 8).task(3)["world"].startswith("test-")


@pytest.mark.parametrize(
    "change",
    [
        {"world": "../../etc"},
        {"world": "train-1x"},
        {"rows": 10**9},
        {"rows": True},
        {"text": None},
        {"answer": {"type": "code", "value": "1"}},
    ],
)
def test_malformed_tasks_are_refused(change: dict[str, object]) -> None:
    tasks = TablesTasks(60, "all", "train", 8)
    with pytest.raises(BadRecord):
        asyncio.run(tasks.open({**tasks.task(1), **change}))


def test_using_all_calls_ends_a_task_unscored() -> None:
    match = tables(max_calls=2).new(1)
    for _ in range(2):
        match.apply({0: format_calls([Call("query", {"sql": "SELECT 1"})])})
    assert match.to_move() == ()
    assert match.returns() == (0.0,)


def test_invalid_parameters_are_refused() -> None:
    with pytest.raises(BadParameter, match="kinds"):
        tables(kinds="riddles")


def test_rules_state_the_scores() -> None:
    rules = tables(max_calls=5).rules(0)
    assert "5 calls" in rules
    assert "0.1" in rules
    assert len(tables().rules(0, "compact")) < 60
