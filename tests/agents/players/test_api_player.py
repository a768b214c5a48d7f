"""A model behind a chat service plays any seat, and its key is never written."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest
import torch
from tests.agents.chat_server import Answer, ChatRequest, chat_server, completion, refusal
from tests.commands import run_command

from gymposium.errors import BadOption, GymposiumError, UnknownName
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.ending import Ending
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Concurrent, MatchContext, Reply
from gymposium.records import Record, RecordWriter, verify_file
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.tokens import Sampling
from gymposium_agents.engines.api_settings import ApiSettings, Prices
from gymposium_agents.engines.chat_tokens import TokenChatEngine
from gymposium_agents.engines.protocol import ChatEngine, TokenEngine
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_agents.players.api_player import ApiPlayer, ChatTurn, make_api_player, read_options
from gymposium_agents.players.player import make_engine_player

KEY = "sk-canary-77aa01"
RETRY = FailurePolicy.parse("retry(2)")


def first_legal(asked: ChatRequest, number: int = 0) -> Answer:
    """A model that plays the first legal move in its prompt."""
    return completion(f"<move>{first_move(asked.messages[-1]['content'])}</move>")


def first_move(prompt: str) -> str:
    (line,) = [line for line in prompt.splitlines() if line.startswith("Legal moves: ")]
    return line.removeprefix("Legal moves: ").split(", ")[0]


def play_through(player: ApiPlayer, game: str = "tic_tac_toe", seed: int = 1, **job: object) -> MatchResult:
    loaded = load_game(game)
    players = [player, *[make_player("random")] * (loaded.seats - 1)]
    (played,) = play([MatchJob("m", loaded, players, seed, **job)])  # type: ignore[arg-type]
    return played


# in a seat


@pytest.mark.parametrize("name", ["tic_tac_toe", "kuhn_poker", "goofspiel(num_cards=4)", "blackjack", "hearts"])
@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
def test_plays_any_game_and_the_record_verifies(name: str, schedule: str, tmp_path: Path) -> None:
    game, file = load_game(name), tmp_path / "matches.jsonl"
    with chat_server(first_legal) as server, RecordWriter(file) as writer:
        player = make_api_player("tiny", f"base_url={server.url}&prices=1/10")
        others = [make_player("random")] * (game.seats - 1)
        jobs = [MatchJob(f"m{i}", game, [*others[:i], player, *others[i:]], i) for i in range(game.seats)]
        for played in play(jobs, schedule=schedule):  # type: ignore[arg-type]
            writer.write(played)
            mine = [turn for turn in played.turns if turn.seat == int(played.job.id[1:])]
            assert {turn.reading for turn in mine} == {"move"}
            assert all(isinstance(turn.trace, ChatTurn) for turn in mine)
            assert all((turn.usage.prompt_tokens, turn.usage.completion_tokens) == (10, 2) for turn in mine)
            assert [turn["cost"] for turn in Record.from_match(played).turns if "cost" in turn] == [3e-5] * len(mine)
    verification = verify_file(file)
    assert (verification.matches, verification.problems) == (game.seats, [])


def test_full_context_sends_the_conversation_and_retry_reasons() -> None:
    def answer(asked: ChatRequest, number: int) -> Answer:
        return completion("nonsense") if number == 1 else first_legal(asked)

    with chat_server(answer) as server:
        player = make_api_player("tiny", f"base_url={server.url}&context=full")
        played = play_through(player, on_illegal=RETRY)
    assert [turn.reading for turn in played.turns if turn.seat == 0][:3] == ["move", "unparsable", "move"]
    for before, after in zip(server.asked, server.asked[1:]):
        assert after.messages[: len(before.messages)] == before.messages
        assert [message["role"] for message in after.messages[len(before.messages) :]] == ["assistant", "user"]
    rules = load_game("tic_tac_toe").rules(0, "full")
    assert rules in server.asked[0].messages[0]["content"]
    assert all(rules not in message["content"] for message in server.asked[-1].messages[1:])
    assert "could not be read" in server.asked[2].messages[-1]["content"]


@pytest.mark.parametrize("text", [None, "", " \n"])
@pytest.mark.parametrize("context", ["full", "truncated", "last-2"])
def test_conversation_messages_are_never_empty(context: str, text: str | None) -> None:
    def answer(asked: ChatRequest, number: int) -> Answer:
        if not all(message["content"].strip() for message in asked.messages):
            return refusal(400, "all messages must have non-empty content")
        return completion(text) if number == 1 else first_legal(asked)

    with chat_server(answer) as server:
        played = play_through(make_api_player("tiny", f"base_url={server.url}&context={context}"), on_illegal=RETRY)
    assert [turn.reading for turn in played.turns if turn.seat == 0][:3] == ["move", "unparsable", "move"]
    assert server.asked[2].messages[-2]["content"] == "[no reply]"


def test_default_context_sends_only_the_state() -> None:
    with chat_server(first_legal) as server:
        play_through(make_api_player("tiny", f"base_url={server.url}"))
    assert {len(asked.messages) for asked in server.asked} == {1}


def test_too_long_prompt_ends_the_match() -> None:
    def answer(asked: ChatRequest, number: int) -> Answer:
        return refusal(400, code="context_length_exceeded") if number == 1 else first_legal(asked)

    with chat_server(answer) as server:
        player = make_api_player("tiny", f"base_url={server.url}")
        played = play_through(player, on_illegal=RETRY)
    assert played.ending == Ending("out of context", 0)
    assert "1 of its matches ended out of context" in player.remarks()[0]
    assert "lower it if it is large" in player.remarks()[0]
    assert len(server.asked) == 2


def test_truncated_replies_are_read_as_cut_off() -> None:
    with chat_server(lambda asked, number: completion(first_move(asked.messages[-1]["content"]), "length")) as server:
        played = play_through(make_api_player("tiny", f"base_url={server.url}"))
    assert [turn.reading for turn in played.turns] == ["cut off"]
    assert played.cut_off == Record.from_match(played).cut_off == {0}


def test_seed_depends_on_match_seat_and_turn() -> None:
    def seeds(seed: int) -> list[int]:
        with chat_server(first_legal) as server:
            play_through(make_api_player("tiny", f"base_url={server.url}"), seed=seed)
        return [asked.body["seed"] for asked in server.asked]

    assert seeds(1) == seeds(1)
    assert len(set(seeds(1))) == len(seeds(1))
    assert not set(seeds(1)) & set(seeds(2))


def test_failed_request_cancels_the_others() -> None:
    never = threading.Event()

    def answer(asked: ChatRequest, number: int) -> Answer:
        return refusal(404) if number == 3 else Answer(until=never, body={})

    with chat_server(answer) as server:
        player = make_api_player("tiny", f"base_url={server.url}")
        game = load_game("kuhn_poker")
        jobs = [MatchJob(f"m{i}", game, [player, player], i) for i in range(4)]
        with pytest.raises(GymposiumError, match="no model called 'tiny'"):
            list(play(jobs))
        never.set()


def test_cancelling_the_reply_cancels_the_request() -> None:
    never, here = threading.Event(), threading.Event()

    def answer(asked: ChatRequest, number: int) -> Answer:
        here.set()
        return Answer(until=never, body={}) if number == 0 else first_legal(asked)

    with chat_server(answer) as server:
        player = make_api_player("tiny", f"base_url={server.url}&at_once=1")
        assert isinstance(player, Concurrent)
        game = load_game("kuhn_poker")
        first: Future[Reply] = player.submit(MatchContext(game.new(0), "a", 0).ask(0))
        assert here.wait(30)
        second = player.submit(MatchContext(game.new(1), "b", 1).ask(0))
        assert first.cancel()  # with the default of at_once the second would wait
        assert second.result(30).text == "<move>pass</move>"
        never.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "others"),
    [
        ("run", ("--json",)),
        pytest.param("eval", ("--jobs", "2", "--json"), marks=pytest.mark.slow),
        pytest.param("synth", (), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_tokens_and_cost_include_matches_before_resume(verb: str, others: Sequence[str], tmp_path: Path) -> None:
    def answer(asked: ChatRequest, number: int) -> Answer:
        return refusal(401) if fails and number >= 21 else first_legal(asked)

    with chat_server(answer) as server:
        player = f"api:tiny?base_url={server.url}&prices=1000/2000&at_once=1"
        who = {
            "run": ("run", "kuhn_poker", "--players", f"{player},random"),
            "eval": ("eval", player, "--game", "kuhn_poker", "--opponents", "random"),
            "synth": ("synth", "--game", "kuhn_poker", "--players", f"{player},random", "--keep", "all"),
        }[verb]
        fails = True
        stopped = run_command(*who, "-n", "20", "--out", "here", folder=tmp_path, env=os.environ)
        fails = False
        resume = ("--allow", player, verb, "--resume", "here", *others)
        resumed = run_command(*resume, folder=tmp_path, env=os.environ)
    assert stopped.returncode == 2
    assert resumed.returncode == 0, resumed.stderr
    (file,) = (tmp_path / "here").rglob("matches.jsonl")
    turns = [turn for line in file.read_text().splitlines() for turn in Record.parse(line).turns if "cost" in turn]
    cost = len(turns) * (10 * 1000 + 2 * 2000) / 1e6
    told = f"{player}: {len(turns)} replies, {10 * len(turns)} tokens in and {2 * len(turns)} out, cost {cost:.4f}."
    assert "".join(told.split()) in "".join(resumed.stderr.split())
    if "--json" in others:
        data = json.loads(resumed.stdout)
        (score,) = data["games"][0]["opponents"].values() if verb == "eval" else data["players"][:1]
        usage = score["usage"]
        assert [usage["prompt_tokens"], usage["completion_tokens"]] == [10 * len(turns), 2 * len(turns)]
        assert usage["cost"] == pytest.approx(cost)


# with a real model behind the service


def serving(model: LoadedModel) -> ChatEngine:
    engine: TokenEngine = model.engine()
    chat: Chat = model.chat
    return TokenChatEngine(engine, chat)


@pytest.mark.parametrize(("context", "max_tokens"), [("state", 4), ("full", 1), ("last-2", 1)])
def test_served_model_plays_as_in_process(model_directory: Path, context: str, max_tokens: int) -> None:
    """A history is text for the service, which need not have the tokens that were sampled. Here the model says only
    tokens that their own text becomes again."""
    loaded = load_model(model_directory)
    tokenizer = loaded.chat.tokenizer
    bias = torch.full((len(tokenizer),), -1e9)
    for token in {*range(len(tokenizer))} - tokenizer.added_tokens_decoder.keys():
        if tokenizer.encode(tokenizer.decode([token])) == [token]:
            bias[token] = 0.0
    loaded.model.lm_head.bias = torch.nn.Parameter(bias)
    behind = serving(loaded)

    def answer(asked: ChatRequest, number: int) -> Answer:
        sampling = Sampling(asked.body["temperature"], asked.body["max_tokens"])
        said = behind.submit(asked.messages, sampling, asked.body["seed"]).result(60)
        return completion(said.text, said.finish_reason)

    settings = PlayerSettings("compact", "move", max_tokens, context)
    here = make_engine_player("lm:tiny", loaded.engine(), loaded.chat, settings)
    with chat_server(answer) as server:
        options = f"prompt=compact&reply=move&max_tokens={max_tokens}&context={context}"
        there = make_api_player("tiny", f"base_url={server.url}&{options}")
        for name in ("tic_tac_toe", "kuhn_poker"):
            game, policy = load_game(name), FailurePolicy.parse("random")
            texts = []
            for player in (here, there):
                jobs = [MatchJob(f"m{i}", game, [player, player], i, on_illegal=policy) for i in range(3)]
                texts.append({p.job.id: [turn.text for turn in p.turns] for p in play(jobs)})
            assert texts[0] == texts[1]


# options


def test_options_are_parsed() -> None:
    service, settings = read_options(
        "gpt",
        {
            "base_url": "https://example.org/api",
            "key": "THEIRS",
            "prices": "1/2",
            "rpm": "30",
            "at_once": "4",
            "timeout": "9.5",
            "retries": "0",
            "seed": "false",
            "temperature": "0.6",
            "context": "last-3",
            "reply": "tags",
            "reading": "strict",
            "prompt": "compact",
            "max_tokens": "64",
        },
    )
    assert service == ApiSettings(
        "gpt", "https://example.org/api", "THEIRS", Prices(1.0, 2.0), 30, 4, 9.5, 0, seed=False
    )
    assert settings == PlayerSettings("compact", "tags", 64, "last-3", 0.6, reading="strict")


@pytest.mark.parametrize("reply", ["tools-hermes", "tools-llama", "tools-keys", "tools-functions"])
def test_refuses_calls_in_a_templates_form(reply: str) -> None:
    with pytest.raises(BadOption, match=f"reply={reply} is not supported: .* Use reply=tools"):
        make_api_player("tiny", f"base_url=http://127.0.0.1:9/v1&reply={reply}")


def test_defaults_explain_everything_and_allow_thinking() -> None:
    service, settings = read_options("gpt", {"temperature": "default"})
    assert service == ApiSettings("gpt", own_temperature=True)
    assert settings == PlayerSettings("full", "tags", max_tokens=512, reading="lenient")


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"api_key": KEY}, UnknownName, "player option 'api_key'"),
        ({"key": KEY}, BadOption, "never the key"),
        ({"rpm": "often"}, BadOption, "rpm='often'"),
        ({"seed": "7"}, BadOption, "seed='7'"),
        ({"prices": "3"}, BadOption, "IN/OUT"),
        ({"thinking": "true"}, BadOption, "thinking="),
        ({"base_ur": "x"}, UnknownName, "'base_url'"),
        ({"max_cost": "5"}, BadOption, r"max_cost= requires prices\. .* '\"gpt\" = \"IN/OUT\"'"),
        ({"max_cost": "0", "prices": "1/2"}, BadOption, "greater than 0"),
        ({"top_p": "1.5"}, BadOption, "up to 1"),
        ({"reasoning_effort": "Very high"}, BadOption, "such as low"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, str], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        read_options("gpt", options)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_prices_come_from_the_users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[prices]\ngpt = "1/2"\n', encoding="utf-8")
    monkeypatch.setenv("GYMPOSIUM_CONFIG", str(file))
    assert read_options("gpt", {"max_cost": "5"})[0].prices == Prices(1, 2)
    assert read_options("gpt", {"prices": "3/4"})[0].prices == Prices(3, 4)
    assert read_options("other", {})[0].prices is None


def test_identity_holds_what_changes_the_replies() -> None:
    player = make_api_player("tiny", "base_url=http://127.0.0.1:9/v1&system=Be%20terse%2C%20please&top_p=0.5")
    assert player.identity().decoding["system"] == "Be terse, please"
    assert player.identity().decoding["top_p"] == 0.5
    assert "reasoning_effort" not in player.identity().decoding


def test_spending_cap_ends_the_run_with_its_matches_recorded(tmp_path: Path) -> None:
    with chat_server(first_legal) as server, RecordWriter(tmp_path / "matches.jsonl") as writer:
        player = make_api_player("tiny", f"base_url={server.url}&prices=100000/0&max_cost=7&at_once=1")
        game = load_game("kuhn_poker")
        jobs = [MatchJob(f"m{i}", game, [player, make_player("random")], i) for i in range(20)]
        with pytest.raises(GymposiumError, match="has reached max_cost=7"):
            [*map(writer.write, play(jobs, at_once=1))]
    assert len(server.asked) == 7
    verification = verify_file(tmp_path / "matches.jsonl")
    assert verification.problems == []
    assert verification.matches > 0


# the key


def gymposium(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", "-m", "gymposium.cli.main", *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "THEIR_KEY": KEY, "OPENAI_LOG": "debug"},
    )


def read_all_output(directory: Path) -> bytes:
    return b"\n".join(file.read_bytes() for file in sorted(directory.rglob("*")) if file.is_file())


@pytest.mark.parametrize(
    ("verb", "fails"),
    [
        ("run", None),
        pytest.param("eval", 401, marks=pytest.mark.slow),
        pytest.param("run", 500, marks=pytest.mark.slow),
        pytest.param("eval", None, marks=pytest.mark.slow),
        pytest.param("run", 401, marks=pytest.mark.slow),
        pytest.param("eval", 500, marks=pytest.mark.slow),
    ],
)
def test_commands_never_write_the_key(verb: str, fails: int | None, tmp_path: Path) -> None:
    """Files, stdout and stderr, with the library's log at its highest level and a server that repeats its requests."""

    def answer(asked: ChatRequest, number: int) -> Answer:
        if fails is not None and number >= 2:
            return refusal(fails, f"you sent {asked.headers['authorization']}")
        return completion(f"{asked.headers['authorization']}") if number == 1 else first_legal(asked)

    with chat_server(answer) as server:
        player = f"api:tiny?base_url={server.url}&key=THEIR_KEY&retries=1"
        who = ("eval", player, "--game", "kuhn_poker", "--opponents", "random")
        if verb == "run":
            who = ("run", "kuhn_poker", "--players", f"{player},random")
        done = gymposium(tmp_path, *who, "-n", "4", "--on-illegal", "retry(1)")
    assert done.returncode == (0 if fails is None else 2), done.stderr
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
    assert "HTTP" in done.stderr  # the log was on
    written = read_all_output(tmp_path)
    if fails is None:
        assert b"Bearer [key]" in written  # the reply that repeated it
    else:
        assert "[key]" in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert KEY.encode() not in written


@pytest.mark.parametrize("fails", [None, 401, 500], ids=["plays", "401", "500"])
def test_process_never_exposes_the_key(
    fails: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)
    for name in (None, "openai", "httpx", "httpcore", "asyncio"):
        caplog.set_level(logging.DEBUG, name)

    def answer(asked: ChatRequest, number: int) -> Answer:
        return first_legal(asked) if fails is None else refusal(fails, f"you sent {asked.headers}")

    told = ""
    with chat_server(answer) as server:
        player = make_api_player("tiny", f"base_url={server.url}&key=THEIR_KEY&retries=1")
        with RecordWriter(tmp_path / "matches.jsonl") as writer:
            try:
                played = play_through(player)
            except GymposiumError as error:
                told += "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
            else:
                writer.write(played)
                told += repr(played) + json.dumps([repr(turn.trace) for turn in played.turns])
    told += repr(player) + repr(vars(player)) + repr(player.engine) + repr(vars(player.engine)) + caplog.text
    told += "".join(map(repr, [*player.remarks(), player.name]))
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
    assert KEY not in told
    assert KEY.encode() not in read_all_output(tmp_path)
