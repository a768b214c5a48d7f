"""A model that calls tools through its chat template learns in a world: lessons, rows and a whole run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.agents.conftest import family_tokenizer  # noqa: F401
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium.plugins.host import host
from gymposium.records import Record, read_records
from gymposium.tasks.tools import Call, list_tools, parse_calls
from gymposium.tasks.tools.reader import ToolsReader
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.settings import PlayerSettings, find_reply_form
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest, Tokens, TurnTokens
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.models.small import make_small_config
from gymposium_agents.players.player import LanguageModelPlayer, choose_reader
from gymposium_agents.players.synth import make_lines
from gymposium_train.config import DecoupledMismatch, Optimizer, Prompting
from gymposium_train.config.checks import check_config
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.reading import build_config
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.learner.rows import make_rows
from gymposium_train.run.cold_start import measure_failed_share
from gymposium_train.run.lessons import Lesson, RandomPlay, list_all_moves, read_chats, tokenize_lessons
from gymposium_train.run.start import resume_run, start_run

WORLD = Path(__file__).resolve().parents[3] / "docs" / "examples" / "parcels.py"
FAMILIES = ("qwen2.5", "qwen3", "qwen3-coder", "llama3", "glm4")
"""A family for each dialect, and families whose templates rewrite history."""
CONTEXT, REPLY = 4096, 400
"""Largest numbers of tokens of prompt and reply together, and of a reply."""

Models = Callable[[str], LoadedModel]


@pytest.fixture(scope="module")
def parcels() -> Iterator[Game]:
    """A world with two tools, from a plugin of one file."""
    host.cache_clear()
    host().load_file(WORLD)
    yield load_game("parcels(numbers=2)")
    sys.modules.pop("parcels", None)
    host.cache_clear()


@pytest.fixture(scope="module")
def models(family_tokenizer: Callable[[str], PreTrainedTokenizerFast]) -> Models:  # noqa: F811
    """Models with random weights, and the tokenizer and chat template of a family."""

    def make(family: str) -> LoadedModel:
        chat = Chat(family_tokenizer(family))
        size = SmallModel(hidden=16, layers=1, heads=2, feed_forward=32, context=CONTEXT)
        config = make_small_config(size, len(chat.tokenizer))
        with torch.random.fork_rng():
            torch.manual_seed(1)
            return LoadedModel(AutoModelForCausalLM.from_config(config).eval(), chat)  # type: ignore[no-untyped-call]

    return make


@dataclass
class ScriptedEngine:
    """An engine whose completions are these thoughts and calls, with their log-probabilities by a model."""

    model: LoadedModel
    moves: Sequence[str]
    thoughts: str = ""
    asked: list[TokenRequest] = field(default_factory=list)
    policy: Policy = field(default_factory=Policy)
    context: int = CONTEXT

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        completions = []
        for request in requests:
            ids = self.model.chat.reply(self.thoughts, parse_calls(self.moves[len(self.asked)]))
            [scores] = self.model.engine().score([(request.prompt, ids)], temperature=sampling.temperature)
            completions.append(Completion(ids, scores, "stop", self.policy))
            self.asked.append(request)
        return completions

    def score(self, pairs: Any, **how: Any) -> list[tuple[float, ...]]:
        raise NotImplementedError


def replay_with_model(loaded: LoadedModel, match: MatchResult, *, context: str, thoughts: str = "") -> MatchResult:
    """The match played by a model that makes the same calls."""
    engine = ScriptedEngine(loaded, [turn.text for turn in match.turns], thoughts)
    sampling = Sampling(0.8, REPLY)
    player = LanguageModelPlayer(
        "lm:scripted", engine, loaded.chat, sampling=sampling, style="full", reply="tools", context=context
    )
    [again] = play([MatchJob("again", match.job.game, [player], match.job.seed)])
    assert again.events == match.events
    return again


def collect_traces(match: MatchResult) -> list[TurnTokens]:
    return [turn.trace for turn in match.turns]


def random_match(game: Game, context: str = "state") -> MatchResult:
    """A random match of several turns, with the lessons of its moves."""
    author = RandomPlay(game, "full", find_reply_form("tools"), seed=4, tag="t", context=context)
    return next(match for match in author.play(30) if len(match.turns) > 2)


def play_with_expert(game: Game) -> MatchResult:
    [match] = play([MatchJob("expert", game, [make_player("tracker")], 4)])
    assert match.paid == (1.0,)
    return match


@pytest.mark.parametrize("context", ["state", "full"])
@pytest.mark.parametrize("family", FAMILIES)
def test_lessons_match_the_prompts_and_calls_of_play(models: Models, parcels: Game, family: str, context: str) -> None:
    loaded, match = models(family), random_match(parcels, context)
    chat, moves = loaded.chat, [turn.text for turn in match.turns]
    found = tokenize_lessons(list_all_moves([match]), chat, context=CONTEXT, max_tokens=REPLY).demonstrations
    assert [one.completion for one in found] == [chat.reply("", parse_calls(move)) for move in moves]
    form = choose_reader("tools", chat)
    assert isinstance(form, ToolsReader)
    assert [form.bind(list_tools(parcels)).extract_move(chat.read(one.completion)) for one in found] == moves
    assert [one.prompt for one in found] == [
        trace.prompt for trace in collect_traces(replay_with_model(loaded, match, context=context))
    ]
    assert all("Look up where a parcel is" in chat.tokenizer.decode(one.prompt) for one in found)


def test_only_real_call_tags_are_control_tokens(models: Models) -> None:
    """Arguments hold text from games, in which nothing becomes a control token."""
    chat = models("qwen2.5").chat
    tag = chat.tokenizer.convert_tokens_to_ids("<tool_call>")
    asked = ({"role": "user", "content": "?"},)
    lesson = Lesson(asked, "", calls=(Call("track", {"number": "<tool_call>"}),))  # type: ignore[arg-type]
    (found,) = tokenize_lessons([lesson], chat, context=CONTEXT, max_tokens=REPLY).demonstrations
    assert found.completion.count(tag) == 1
    lesson = Lesson(asked, "<tool_call>")  # type: ignore[arg-type]
    (found,) = tokenize_lessons([lesson], chat, context=CONTEXT, max_tokens=REPLY).demonstrations
    assert tag not in found.completion


def test_unsupported_calls_are_errors(models: Models) -> None:
    two = Lesson(({"role": "user", "content": "?"},), "", "a.jsonl:7", calls=(Call("a", {}), Call("b", {})))
    with pytest.raises(BadOption, match=r"^a\.jsonl:7: .*the llama dialect writes one call"):
        tokenize_lessons([two], models("llama3").chat, context=CONTEXT, max_tokens=REPLY)


def list_lessons(directory: Path, chats: Iterable[dict[str, Any]], chat: Chat) -> list[Demonstration]:
    """What a cold start learns from a file of these chats."""
    (directory / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in chats))
    lessons = read_chats([directory / "data.jsonl"], thinking=chat.thinking)
    return tokenize_lessons(lessons, chat, context=CONTEXT, max_tokens=REPLY).demonstrations


@pytest.mark.parametrize(("family", "per"), [("qwen2.5", "match"), ("qwen3", "turn"), ("llama3", "turn")])
def test_expert_chats_make_call_lessons(models: Models, parcels: Game, tmp_path: Path, family: str, per: Any) -> None:
    loaded, match = models(family), play_with_expert(parcels)
    chats = make_lines(Record.from_match(match), 0, PlayerSettings(reply="tools", context="full"), per)
    expected = collect_traces(replay_with_model(loaded, match, context="full"))
    assert len(expected) == 3
    assert [(one.prompt, one.completion) for one in list_lessons(tmp_path, chats, loaded.chat)] == [
        (trace.prompt, trace.completion.ids) for trace in expected
    ]


def test_model_chats_keep_thoughts(models: Models, parcels: Game, tmp_path: Path) -> None:
    tokenizer = models("qwen3").chat.tokenizer
    loaded = LoadedModel(models("qwen3").model, Chat(tokenizer, thinking=True))
    match = replay_with_model(
        loaded, play_with_expert(parcels), context="full", thoughts="<think>\nWhere?\n</think>\n\n"
    )
    chats = [
        *make_lines(Record.from_match(match), 0, PlayerSettings(reply="tools", context="full", thinking=True), "turn")
    ]
    for line, trace in zip(chats, collect_traces(match), strict=True):  # other trainers render the same
        how = {"tools": line["tools"], "add_generation_prompt": True, **line["chat_template_kwargs"]}
        assert tokenizer.apply_chat_template(line["prompt"], tokenize=False, **how) == tokenizer.decode(trace.prompt)
    assert [(one.prompt, one.completion) for one in list_lessons(tmp_path, chats, loaded.chat)] == [
        (trace.prompt, trace.completion.ids) for trace in collect_traces(match)
    ]


def test_rows_hold_sampled_tokens(models: Models, parcels: Game) -> None:
    """Replies of random weights are hardly ever calls; each is asked for again, in the same row."""
    loaded = models("qwen2.5")
    player = LanguageModelPlayer(
        "lm:random",
        loaded.engine(),
        loaded.chat,
        sampling=Sampling(1.0, 9),
        style="full",
        reply="tools",
        context="full",
    )
    [match] = play([MatchJob("m", parcels, [player], 4, on_illegal=FailurePolicy.parse("penalty(0.1,3)"))])
    traces = collect_traces(match)
    [row] = make_rows(traces)
    assert len(row.spans) > 1
    assert [row.ids[span.start : span.stop] for span in row.spans] == [trace.completion.ids for trace in traces]
    assert [row.ids[: span.start] for span in row.spans] == [trace.prompt for trace in traces]


@pytest.mark.parametrize(("family", "grows"), [("qwen2.5", True), ("llama3", True), ("qwen3", False)])
def test_learner_matches_engine_on_tool_rows(models: Models, parcels: Game, family: str, grows: bool) -> None:
    loaded, match = models(family), random_match(parcels)
    rows = make_rows(collect_traces(replay_with_model(loaded, match, context="full")))
    assert len(rows) == (1 if grows else len(match.turns))
    loss = Loss(temperature=0.8, mismatch=DecoupledMismatch())
    rows = LocalLearner(loaded.model, loaded.pad, Optimizer(), loss=loss).annotate(rows)
    for span in (span for row in rows for span in row.spans):
        assert span.old == pytest.approx(span.engine, abs=1e-5)


@pytest.mark.parametrize("form", ["tools", "move"])
def test_cold_start_counts_replies_without_calls_as_failed(models: Models, parcels: Game, form: str) -> None:
    chat = models("qwen2.5").chat
    [match] = RandomPlay(parcels, "full", find_reply_form(form), seed=4, tag="t").play(1)
    lot: list[Lesson] = list_all_moves([match])
    said = [chat.reply(lot[0].reply, lot[0].calls), chat.reply("It is in Oslo.")]
    for ids, failed in zip(said, (0.0, 1.0), strict=True):

        def generate(requests: Sequence[TokenRequest], sampling: Sampling, ids: Tokens = ids) -> list[Completion]:
            return [Completion(ids, (0.0,) * len(ids), "stop", Policy())] * len(requests)

        loaded: Any = SimpleNamespace(
            chat=chat, engine=lambda made=generate: SimpleNamespace(generate=made, context=CONTEXT)
        )
        assert measure_failed_share(loaded, Prompting(reply=form), [lot], seed=0, step=0) == failed


def test_run_learns_calls_and_reports_the_template(
    models: Models, parcels: Game, tmp_path: Path, quick_config: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = models("qwen2.5")
    loaded.save(tmp_path / "model")
    config = quick_config(
        f"model.name={json.dumps(str(tmp_path / 'model'))}",
        f"games={json.dumps([parcels.name])}",
        "prompting.reply=tools",
        "prompting.context=full",
        "prompting.max_tokens=8",
        "cold_start.steps=2",
        "cold_start.matches=4",
        "cold_start.batch=2",
        "steps=1",
        "rollout.group_size=2",
        "evaluation.matches=2",
        "evaluation.curve_matches=2",
        "evaluation.every=1",
        without=("model.small",),
    )
    run = start_run(tmp_path / "run", config)
    assert capsys.readouterr().err.count(loaded.chat.verdict) == 1
    assert "tool calls as in hermes" in loaded.chat.verdict
    assert run.results()["cold_start"]["replies"] > 0
    [step] = [entry for entry in run.metrics() if entry["stage"] == "train"]
    assert step["sync/canary"] < 1e-5
    assert f"eval/{parcels.name}/alone/return" in step
    for name in ("train", "eval"):
        records = [record for _, record in read_records(run.matches(name)) if isinstance(record, Record)]
        assert "tools-hermes" in {record.prompts[0]["reader"] for record in records}
    player: Any = make_player(f"lm:{tmp_path / 'model'}@{run.adapter}")
    assert player.reader.name == "tools-hermes"
    resume_run(run.path)
    assert capsys.readouterr().err.count(loaded.chat.verdict) == 1


def test_template_without_tools_is_refused_before_a_run(models: Models, parcels: Game, tmp_path: Path) -> None:
    models("gemma").save(tmp_path / "model")
    table = {"model": {"name": str(tmp_path / "model")}, "prompting": {"reply": "tools"}, "games": [parcels.name]}
    with pytest.raises(BadConfig, match=r"prompting\.reply: .* has no tools"):
        check_config(build_config(table))
