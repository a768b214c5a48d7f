"""`await evaluate(…)`: result fields, their contents, and failures of the service or the match."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.agents.chat_server import Answer, ChatRequest, ChatServer, chat_server, completion, refusal

from gymposium.errors import BadOption, GymposiumError, MissingExtra
from gymposium.games.registry import load_game
from gymposium_affinetes import decode_task, encode_game, evaluate
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.engines.api_settings import ApiSettings
from gymposium_agents.models.small import make_small_model

KEY = "sk-canary-affinetes"
AT_ONCE = ApiSettings("m", "http://127.0.0.1:9").at_once
FIELDS = {"task_name", "score", "success", "time_taken", "extra"}
EXTRA = (
    "conversation action_history observation task_type game_name task_id seed opponent_type llm_player_id "
    "final_return all_returns usage"
).split()


def nth_legal(asked: ChatRequest, n: int = 0) -> str:
    (line,) = [x for x in asked.messages[-1]["content"].splitlines() if x.startswith("Legal moves: ")]
    moves = line.removeprefix("Legal moves: ").split(", ")
    return f"<think>{n}</think><move>{moves[n % len(moves)]}</move>"


def first_legal(asked: ChatRequest, number: int) -> Answer:
    return completion(nth_legal(asked))


def run(server: ChatServer, game: str | int, seed: int = 0, **options: Any) -> dict[str, Any]:
    task_id = encode_game(game) if isinstance(game, str) else game
    return asyncio.run(evaluate(task_id=task_id, seed=seed, model="m", base_url=server.url, **options))


@pytest.mark.parametrize(
    "game",
    ["goofspiel(num_cards=8)", "liars_dice(numdice=5)", "hex(board_size=5)", "hearts", "euchre", "blackjack"],
)
@pytest.mark.parametrize("seed", [3, 2])
def test_result_fields_match_affinetes(game: str, seed: int) -> None:
    with chat_server(first_legal) as server:
        result = run(server, game, seed, opponent="random")
    extra, name = result["extra"], game.partition("(")[0]
    assert set(result) == FIELDS
    assert set(EXTRA) <= set(extra)
    json.dumps(result)
    task = decode_task(encode_game(game))
    loaded = task.load()
    assert result["task_name"] == f"openspiel:{name}"
    assert (extra["task_type"], extra["game_name"], extra["opponent_type"]) == (name, name, "random")
    assert (extra["task_id"], extra["seed"], extra["llm_player_id"]) == (encode_game(game), seed, seed % loaded.seats)
    assert extra["final_return"] == extra["all_returns"][extra["llm_player_id"]]
    assert result["success"] == (result["score"] > 0.5)
    replies = len(server.asked)
    assert extra["usage"] == {
        "prompt_tokens": 10 * replies,
        "completion_tokens": 2 * replies,
        "total_tokens": 12 * replies,
    }
    assert extra["conversation"] == [
        *server.asked[-1].messages,
        {"role": "assistant", "content": extra["conversation"][-1]["content"]},
    ]
    assert sum(one["is_llm"] for one in extra["action_history"]) == replies
    assert {one["player_id"] for one in extra["action_history"] if one["is_llm"]} == {seed % loaded.seats}


def test_history_lists_the_match_with_engine_actions() -> None:
    import pyspiel

    with chat_server(first_legal) as server:
        result = run(server, "othello", 1, opponent="random")
    state = pyspiel.load_game("othello").new_initial_state()
    for one in result["extra"]["action_history"]:
        assert one["player_id"] == state.current_player()
        state.apply_action(one["action"])
    assert state.is_terminal()
    assert result["extra"]["all_returns"] == state.returns()
    assert result["score"] == (state.returns()[1] + 1) / 2


def test_joint_moves_match_the_moves_played() -> None:
    """In goofspiel both seats' bids count as they were given, whatever has left the hands by then."""
    with chat_server(lambda asked, number: completion(nth_legal(asked, number))) as server:
        history = run(server, "goofspiel(num_cards=8)", 0, opponent="random")["extra"]["action_history"]
    for seat in (0, 1):
        bids = [one["action_str"] for one in history if one["player_id"] == seat]
        assert len(bids) == len(set(bids)) == 7
    said = [asked.messages[-1]["content"] for asked in server.asked]
    for before, after, number in zip(said, said[1:], range(7)):
        bid = history[2 * number]["action"] + 1
        assert f"Your hand: {hand(before, without=bid)}." in after


def hand(text: str, without: int) -> str:
    (cards,) = re.findall(r"Your hand: ([\d ]+)\.", text)
    return " ".join(card for card in cards.split() if int(card) != without)


@pytest.mark.parametrize("opponent", ["random", "mcts"])
@pytest.mark.parametrize("game", ["leduc_poker", "hex(board_size=5)"])
def test_same_task_and_seed_give_the_same_match(game: str, opponent: str) -> None:
    def match(seed: int) -> tuple[object, object]:
        with chat_server(first_legal) as server:
            result = run(server, game, seed, opponent=opponent)
        return result["extra"]["action_history"], result["score"]

    assert match(4) == match(4)


@pytest.mark.slow
def test_opponents_have_separate_random_streams() -> None:
    """If all opponents drew from one stream, seats in equal positions would move alike."""
    with chat_server(first_legal) as server:
        moves: dict[int, list[int]] = {}
        for seed in range(8):
            for one in run(server, "hearts", 4 * seed, opponent="random")["extra"]["action_history"][:12]:
                if not one["is_llm"]:
                    moves.setdefault(one["player_id"], []).append(one["action"])
    assert set(moves) == {1, 2, 3}
    assert len({tuple(one) for one in moves.values()}) == 3


def test_last_observation_hides_other_seats() -> None:
    """A seat's prompts and its last observation are equal if only the other seat's hidden dice differ."""
    with chat_server(lambda asked, number: completion("<move>liar</move>" if number else nth_legal(asked))) as server:
        result = run(server, "liars_dice(numdice=5)", 0, opponent="random")
    game, extra = load_game("liars_dice(numdice=5)"), result["extra"]
    match = game.new(0)
    for one in extra["action_history"]:
        match.apply({one["player_id"]: one["action_str"]})
    assert extra["observation"] == match.observe(0, "full").text
    assert match.view(1) not in extra["observation"]


def test_search_opponent_matches_affinetes_strength() -> None:
    with chat_server(first_legal) as server:
        extra = run(server, "hex(board_size=5)", 0)["extra"]
    assert (extra["opponent_type"], extra["opponent"]) == ("mcts", "mcts-1000")
    searched = sum(not one["is_llm"] for one in extra["action_history"])
    assert extra["mcts_timing"]["total_mcts_calls"] == searched > 0
    assert extra["mcts_timing"]["num_mcts_bots"] == 1
    with chat_server(first_legal) as server:
        assert run(server, "goofspiel(num_cards=8)", 0)["extra"]["opponent"] == "random"


def test_unparsable_model_gets_three_attempts_and_score_zero() -> None:
    with chat_server(lambda asked, number: completion("I bid high!")) as server:
        result = run(server, "leduc_poker", 0, opponent="random")
    assert (result["score"], result["success"], "error" in result) == (0.0, False, False)
    assert result["extra"]["readings"] == ["unparsable"] * 3
    assert (result["extra"]["final_return"], result["extra"]["all_returns"]) == (None, None)
    assert len(server.asked) == 3


def test_unset_temperature_is_left_to_the_service() -> None:
    with chat_server(first_legal) as server:
        run(server, "blackjack", 0)
        run(server, "blackjack", 0, temperature=0.7)
    assert "temperature" not in server.asked[0].body
    assert server.asked[-1].body["temperature"] == 0.7


# failures


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda asked, number: refusal(404, "gone"), "no model called 'm'"),
        (lambda asked, number: Answer(body=b"<html>"), "did not return a chat completion"),
        (lambda asked, number: refusal(400, code="context_length_exceeded"), "no space for a reply"),
    ],
)
def test_service_failures_are_errors_without_a_score(answer: Any, says: str) -> None:
    with chat_server(answer) as server:
        result = run(server, "leduc_poker", 0)
    assert says in result["error"]
    assert (result["score"], result["success"]) == (None, False)
    assert result["extra"]["all_returns"] is None


def test_conversation_before_a_failure_is_kept() -> None:
    with chat_server(lambda asked, number: first_legal(asked, number) if number < 2 else refusal(404)) as server:
        result = run(server, "hex(board_size=5)", 0, opponent="random")
    assert len(result["extra"]["conversation"]) == 4
    assert result["extra"]["usage"]["total_tokens"] == 24


def test_slow_matches_time_out_with_an_error() -> None:
    never = threading.Event()
    with chat_server(lambda asked, number: Answer(until=never, body={})) as server:
        result = run(server, "hex(board_size=5)", 0, timeout=0.3)
        never.set()
    assert result["error"] == "The match was unfinished after 0.3 s."
    assert (result["score"], result["extra"]["conversation"]) == (None, [])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"task_id": 22 * 10**8}, "ids go from"),
        ({"task_id": -1}, "ids go from"),
        ({"seed": "1"}, "use an integer"),
        ({"opponent": "mtcs"}, "Unknown player 'mtcs'"),
        ({"timeout": 0}, "timeout=0"),
        ({"api_key": KEY}, "environment variable"),
        ({"key": "NOBODY_HAS_SET_THIS"}, "NOBODY_HAS_SET_THIS"),
        ({"base_url": None, "model": "/no/such/directory"}, "OPENAI_API_KEY"),
        ({"context": "all"}, "Unknown context 'all'"),
    ],
)
def test_invalid_arguments_are_raised(options: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    given = {"task_id": 0, "seed": 0, "model": "m", "base_url": "http://127.0.0.1:9", **options}
    with pytest.raises(GymposiumError, match=says) as caught:
        asyncio.run(evaluate(**given))
    assert KEY not in str(caught.value)


def test_results_never_contain_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)

    def answer(asked: ChatRequest, number: int) -> Answer:
        said = f"you sent {asked.headers['authorization']}"
        return completion(said) if number == 0 else refusal(401, said)

    with chat_server(answer) as server:
        result = run(server, "leduc_poker", 0, key="THEIR_KEY")
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert "THEIR_KEY" in result["error"]
    assert KEY not in repr(result)


# together, and offline


@pytest.mark.slow
def test_concurrent_evaluations_are_independent_and_do_not_block() -> None:
    tasks = [
        encode_game("leduc_poker"),
        encode_game("hex(board_size=5)"),
        encode_game("blackjack"),
        encode_game("goofspiel(num_cards=8)"),
    ]

    async def all_of_them(url: str) -> tuple[list[dict[str, Any]], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        results = await asyncio.gather(
            *(evaluate(task_id=t, seed=s, model="m", base_url=url, opponent="random") for t in tasks for s in range(3))
        )
        ticking.cancel()
        return results, ticks

    with chat_server(first_legal) as server:
        alone = [run(server, task, seed, opponent="random") for task in tasks for seed in range(3)]
    with chat_server(first_legal) as server:
        together, ticks = asyncio.run(all_of_them(server.url))
    assert ticks > 1
    for one, other in zip(alone, together, strict=True):
        assert {**one, "time_taken": 0.0} == {**other, "time_taken": 0.0}


def test_service_limits_are_shared_by_all_calls() -> None:
    """Calls that begin at once share one engine, in any number of threads."""
    under_way, most = 0, 0
    counting, arrived = threading.Lock(), threading.Semaphore(0)

    def answer(asked: ChatRequest, number: int) -> Answer:
        nonlocal under_way, most
        with counting:
            under_way += 1
            most = max(most, under_way)
        arrived.release()
        if number < AT_ONCE:  # the first requests wait for each other, so that the allowed number is reached
            all_here.wait(30)
        with counting:
            under_way -= 1
        return first_legal(asked, number)

    def wait_for_all() -> None:
        for _ in range(AT_ONCE):
            arrived.acquire(timeout=30)
        all_here.set()

    async def all_of_them(url: str) -> list[dict[str, Any]]:
        task_id = encode_game("blackjack")
        return await asyncio.gather(
            *(evaluate(task_id=task_id, seed=seed, model="shared", base_url=url) for seed in range(3 * AT_ONCE))
        )

    all_here = threading.Event()
    waiting = threading.Thread(target=wait_for_all)
    with chat_server(answer) as server:
        waiting.start()
        results = asyncio.run(all_of_them(server.url))
    waiting.join()
    assert not any("error" in result for result in results)
    assert most == AT_ONCE


def test_model_directories_play_in_process(game_texts: list[str], tiny_size: SmallModel, tmp_path: Path) -> None:
    make_small_model(tmp_path, game_texts, seed=1, size=replace(tiny_size, context=4096))

    async def twice() -> list[dict[str, Any]]:
        options: dict[str, Any] = {"reply": "move", "max_tokens": 4, "context": "state", "opponent": "random"}
        task_id, model = encode_game("leduc_poker"), str(tmp_path)
        return await asyncio.gather(*(evaluate(task_id=task_id, seed=7, model=model, **options) for _ in range(2)))

    one, other = asyncio.run(twice())
    assert "error" not in one
    assert one["score"] == 0.0  # the model is untrained, so its replies are unparsable
    assert one["extra"]["usage"]["completion_tokens"] >= 3
    assert [message["role"] for message in one["extra"]["conversation"]] == ["user", "assistant"] * 3
    assert one["extra"] == other["extra"]


def test_missing_openai_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(MissingExtra, match=r'pip install "gymposium-agents\[api\]"'):
        asyncio.run(evaluate(task_id=0, seed=0, model="another", base_url="http://127.0.0.1:9"))
    with pytest.raises(BadOption):
        asyncio.run(evaluate(task_id=0, seed=0, model="m", base_url="nowhere"))
