"""Served matches equal those of `gymnasium.make` with the same seeds, and their records verify."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gymposium import load_game
from gymposium.envs.gym import TextGameEnv
from gymposium.plugins.host import host
from gymposium.records import read_records, verify_file
from gymposium.util.streams import stream
from gymposium_testing.walk import draw_reply

PLAYED_AT_RANDOM = [spec.name for spec in host().games.values() if spec.plays_at_random]


def episode_here(game: str, seed: int, **options: Any) -> list[Any]:
    """Every observation, with legal moves and reward, of an episode with random replies in an environment here."""
    env = TextGameEnv(game, **options)
    rng = stream(seed, "replies")
    text, info = env.reset(seed=seed)
    shown: list[Any] = [(text, info.get("legal_moves"), None)]
    over = False
    while not over:
        text, reward, over, _, info = env.step(draw_reply(env.game, info, text, rng))
        shown.append((text, info.get("legal_moves"), reward))
    assert env.played is not None
    return [*shown, env.played.returns[env.seat], info["result"], info.get("report")]


def episode_there(client: Any, game: str, seed: int, **options: Any) -> list[Any]:
    """The same over the wire."""
    loaded, rng = load_game(game), stream(seed, "replies")
    data = client.reset(game=game, seed=seed, **options)
    shown: list[Any] = []
    total = 0.0
    while True:
        seen = data["observation"]
        shown.append((seen["text"], seen["legal_moves"], data["reward"]))
        total += data["reward"] or 0.0
        if data["done"]:
            break
        data = client.step(draw_reply(loaded, seen, seen["text"], rng))
    return [*shown, pytest.approx(total), data["metadata"]["result"], data["metadata"].get("report")]


@pytest.mark.parametrize("game", PLAYED_AT_RANDOM)
def test_served_games_match_local_play(start_server, game: str) -> None:
    server = start_server(game)
    seats = load_game(game).seats
    with server.client() as client:
        for seed in range(2):
            seat = seed % seats
            assert episode_here(game, seed, seat=seat) == episode_there(client, game, seed, seat=seat)
    verified = verify_file(server.records)
    assert (verified.matches, verified.problems) == (2, [])


def test_served_free_text_matches_local_play(start_server) -> None:
    """Readings, rewards and returns agree for replies that are no moves, too."""
    server = start_server("trace")
    with server.client() as client:
        for seed in range(5):
            assert episode_here("trace", seed) == episode_there(client, "trace", seed)
    assert verify_file(server.records).problems == []


@pytest.mark.parametrize("reply", ["move", "tags", "json"])
@pytest.mark.parametrize("prompt", ["full", "compact"])
def test_client_chooses_prompt_style_and_reply_format(start_server, prompt: str, reply: str) -> None:
    with start_server("kuhn_poker").client() as client:
        there = episode_there(client, "kuhn_poker", 3, prompt=prompt, reply=reply)
    assert there == episode_here("kuhn_poker", 3, prompt=prompt, reply=reply)


def test_client_chooses_among_offered_opponents(start_server) -> None:
    server = start_server("crazy_eights(players=3)", "kuhn_poker", opponents=("random", "mcts-20"))
    with server.client() as client:
        there = episode_there(client, "kuhn_poker", 1, opponent="mcts-20", seat=1)
        assert there == episode_here("kuhn_poker", 1, opponent="mcts-20", seat=1)
        three = ["mcts-20", "random"]
        there = episode_there(client, "crazy_eights(players=3)", 1, opponent=three, seat=2)
        assert there == episode_here("crazy_eights(players=3)", 1, opponent=three, seat=2)
    players = [record.players for _, record in read_records(server.records)]
    assert players == [["mcts-20", "env"], ["mcts-20", "random", "env"]]


def test_seats_may_be_random(start_server) -> None:
    with start_server("tic_tac_toe").client() as client:
        seats = {client.reset(seed=seed, seat="random")["metadata"]["seat"] for seed in range(10)}
    assert seats == {0, 1}


def test_one_server_socket_plays_any_of_its_games(start_server) -> None:
    server = start_server("tic_tac_toe", "goofspiel(num_cards=3)")
    for path, game in (
        ("/ws", "tic_tac_toe"),
        ("/ws?game=goofspiel(num_cards%3D3)", "goofspiel(num_cards=3)"),
        ("/goofspiel(num_cards=3)/ws", "goofspiel(num_cards=3)"),
    ):
        with server.client(path) as client:
            assert client.reset()["metadata"]["game"] == game
            assert client.reset(game="tic_tac_toe")["metadata"]["game"] == "tic_tac_toe"
            assert client.reset()["metadata"]["game"] == game


def test_state_reports_the_match(start_server) -> None:
    with start_server("tic_tac_toe").client() as client:
        nothing = {"episode_id": None, "step_count": 0, "game": "tic_tac_toe", "seat": None, "done": False}
        assert client.send("state") == {"type": "state", "data": nothing}
        shown = client.reset(seed=1, episode_id="mine", seat=1)
        assert shown["metadata"]["episode_id"] == "mine"
        client.step(shown["observation"]["legal_moves"][0])
        state = client.send("state")["data"]
        assert state == {"episode_id": "mine", "step_count": 1, "game": "tic_tac_toe", "seat": 1, "done": False}


def test_match_over_before_the_seats_turn_is_done_at_once(start_server) -> None:
    game = "euchre"
    with start_server(game).client() as client:
        for seed in range(60):
            data = client.reset(seed=seed, seat=0)
            if data["done"]:
                break
        else:
            pytest.fail("no match ended before seat 0 was asked")
        env = TextGameEnv(game, seat=0)
        _, info = env.reset(seed=seed)
        assert info["result"] == data["metadata"]["result"]
        assert env.step("anything")[1] == data["reward"]
        assert client.refused("step", text="anything")[0] == "EXECUTION_ERROR"


@pytest.mark.parametrize(
    ("policy", "reward", "done"), [("forfeit", -1.0, True), ("retry(1)", 0.0, False), ("penalty(0.25)", -0.25, False)]
)
def test_illegal_move_has_the_servers_declared_cost(start_server, policy: str, reward: float, done: bool) -> None:
    with start_server("tic_tac_toe", on_illegal=policy).client() as client:
        client.reset(seed=0)
        data = client.step("z9")
        assert (data["reward"], data["done"]) == (reward, done)
        assert data["metadata"]["reading"] == "unparsable"


def test_concurrent_clients_play_independently(start_server) -> None:
    """They share one opponent; every fourth client leaves in the middle of its match."""
    server = start_server("kuhn_poker", "goofspiel(num_cards=3)", opponents=("mcts-5",), sessions=16)

    def plays(number: int) -> list[Any]:
        game = ("kuhn_poker", "goofspiel(num_cards=3)")[number % 2]
        with server.client() as client:
            if number % 4 == 3:
                client.reset(seed=number)
                client.socket.close_socket()
                return []
            return episode_there(client, game, number)

    with ThreadPoolExecutor(16) as threads:
        there = list(threads.map(plays, range(16)))
    for number, shown in enumerate(there):
        game = ("kuhn_poker", "goofspiel(num_cards=3)")[number % 2]
        assert shown == ([] if number % 4 == 3 else episode_here(game, number, opponent="mcts-5"))
    verified = verify_file(server.records)
    assert (verified.matches, verified.problems) == (12, [])


def test_unseeded_matches_differ(start_server) -> None:
    with start_server("kuhn_poker").client() as client:
        deals = {client.reset()["observation"]["text"] for _ in range(40)}
    assert len(deals) > 1
