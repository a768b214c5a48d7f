"""TextArena's agents as gymposium players, and gymposium's players as TextArena agents."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gymposium import load_game, make_player
from gymposium.errors import BadOption, WrongType
from gymposium.match import MatchJob, MatchResult, play as play_matches
from gymposium.match.failures import FailurePolicy
from gymposium.records import RecordWriter, verify_file

ta = pytest.importorskip("textarena", reason="textarena is not installed: tox run -e textarena")

from gymposium_textarena import (  # noqa: E402
    GymposiumEnv,
    RecordedEnv,
    TextArenaAgent,
    TextArenaPlayer,
    register_games,
    replay_episodes,
)
from gymposium_textarena.player import BadAgent  # noqa: E402

from .simple import MovePicker, TextPlayer, play  # noqa: E402

THEIRS = (
    ("TicTacToe-v0", 2),
    ("ConnectFour-v0", 2),
    ("KuhnPoker-v0", 2),
    ("LiarsDice-v0", 2),
    ("Nim-v0", 2),
    ("PigDice-v0", 2),
    ("GuessTheNumber-v0", 1),
    ("IteratedPrisonersDilemma-v0", 2),
    ("SimpleNegotiation-v0", 2),
    ("Poker-v0-small", 3),
)


def matches(game: str, *players: Any, count: int = 10, on_illegal: str = "forfeit") -> list[MatchResult]:
    policy = FailurePolicy.parse(on_illegal)
    return list(
        play_matches(MatchJob(f"m{seed}", load_game(game), players, seed, on_illegal=policy) for seed in range(count))
    )


@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker", "goofspiel(num_cards=4)", "liars_dice"])
def test_agents_play_as_players_and_records_verify(game: str, tmp_path: Path) -> None:
    played = matches(game, TextArenaPlayer(MovePicker(1)), make_player("mcts-10"))
    assert {result.ending.kind for result in played} == {"over"}
    with RecordWriter(tmp_path / "m.jsonl") as writer:
        for result in played:
            writer.write(result)
    verified = verify_file(tmp_path / "m.jsonl")
    assert (verified.matches, verified.problems) == (10, [])
    assert played[0].job.players[0].name == "MovePicker"


def test_wrapped_agents_read_prompts_and_answer_in_tags() -> None:
    seen = []

    class Thinks(ta.Agent):  # type: ignore[misc]
        def __call__(self, observation: str) -> str:
            seen.append(observation)
            return "<think>A king.</think><move>bet</move>"

    player = TextArenaPlayer(ta.AgentWrapper(Thinks()), name="thinks", reply="tags")
    [result] = matches("kuhn_poker", player, make_player("random"), count=1)
    assert result.events[2:][0] == (0, "bet")
    assert load_game("kuhn_poker").rules(0) in seen[0]
    assert "inside <move></move>" in seen[0]


def test_agents_read_the_position_or_the_whole_match() -> None:
    seen: list[str] = []

    def agent(observation: str) -> str:
        seen.append(observation)
        return MovePicker(len(observation))(observation)

    matches("tic_tac_toe", TextArenaPlayer(agent), make_player("random"), count=1)
    rules = load_game("tic_tac_toe").rules(0)
    assert len(seen) > 2
    assert all(text.startswith(rules) for text in seen)
    assert max(text.count("Legal moves: ") for text in seen) == 1
    seen.clear()
    [result] = matches("tic_tac_toe", TextArenaPlayer(agent, context="full"), make_player("random"), count=1)
    assert [text.count("Legal moves: ") for text in seen] == list(range(1, len(seen) + 1))
    assert {text.count(rules) for text in seen} == {1}
    for before, after, turn in zip(seen, seen[1:], result.turns[::2], strict=False):
        assert after.startswith(f"{before}\n[Player 0] {turn.text}\n")
    with pytest.raises(BadOption, match="write 'state' or 'full'"):
        TextArenaPlayer(agent, context="all")  # type: ignore[arg-type]


def test_humans_play_through_textarenas_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = MovePicker(3)
    monkeypatch.setattr("builtins.input", lambda text: agent(text))
    for result in matches("tic_tac_toe", TextArenaPlayer(ta.agents.HumanAgent()), make_player("random")):
        assert result.ending.kind == "over"


def test_agents_must_return_text() -> None:
    with pytest.raises(BadAgent, match="mute returned None of type NoneType"):
        matches("tic_tac_toe", TextArenaPlayer(lambda text: None, name="mute"), make_player("random"))  # type: ignore[arg-type,return-value]
    with pytest.raises(WrongType, match="An agent must be callable"):
        TextArenaPlayer("gpt-4o")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def model(model_directory: Path) -> Any:
    """A small language model as a player."""
    return make_player(f"lm:{model_directory}?max_tokens=6")


@pytest.fixture(scope="module")
def address(model: Any) -> Iterator[str]:
    """The address of the model behind OpenAI's chat completions."""
    from gymposium.http.app import build_api
    from gymposium.http.listening import Listener
    from gymposium_train.serving.model_app import ModelApi

    with Listener("127.0.0.1", 0) as listener:
        routes = ModelApi(model, "tiny", 0).routes()
        server = listener.server(build_api(routes, names=listener.names, token=None, needs_token=lambda path: False))
        thread = threading.Thread(target=listener.run, args=[server])
        thread.start()
        yield f"{listener.address}/v1"
        server.should_exit = True
        thread.join()


def test_openai_agent_plays_matches_and_environments(address: str, tmp_path: Path) -> None:
    def agent() -> Any:
        return ta.agents.OpenAIAgent("tiny", api_key="none", base_url=address, temperature=0)

    [env_id] = register_games("kuhn_poker")
    with RecordWriter(tmp_path / "m.jsonl") as writer:
        for result in matches(
            "kuhn_poker", TextArenaPlayer(agent()), make_player("random"), count=3, on_illegal="random"
        ):
            env = ta.make(env_id, players={1: "random"}, on_illegal="random")
            play(env, {0: agent()}, result.job.seed, num_players=2)
            assert [turn["text"] for turn in env.record().turns] == [turn.text for turn in result.turns]
            assert env.record().events == result.events
            writer.write(result)
            writer.write(env.table.played)
    verified = verify_file(tmp_path / "m.jsonl")
    assert (verified.matches, verified.problems) == (6, [])


def test_text_players_play_ten_textarena_games() -> None:
    episodes = []
    for env_id, players in THEIRS:
        agents = [TextArenaAgent(TextPlayer(), seed=seat) for seat in range(players)]
        env = RecordedEnv(ta.make(env_id))
        rewards, _ = play(env, dict(enumerate(agents)), seed=7)
        assert set(rewards) == set(range(players))
        told = [turn.text for agent in agents for turn in agent.turns]
        assert len(told) == len(env.episode.actions) > 0
        assert all("My secret" in text for text in told)
        assert not any("My secret" in text for _, text in env.episode.actions)
        twice = RecordedEnv(ta.make(env_id))
        play(twice, {seat: TextArenaAgent(TextPlayer(), seed=seat) for seat in range(players)}, seed=7)
        assert twice.episode == env.episode
        episodes.append(env.episode)
    assert [(found.episode.env, found.difference) for found in replay_episodes(*episodes)] == [
        (env_id, "") for env_id, _ in THEIRS
    ]


def test_language_models_play_textarena_games(model: Any) -> None:
    for env_id in ("TicTacToe-v0", "ConnectFour-v0", "IteratedPrisonersDilemma-v0"):
        agents = {seat: TextArenaAgent(model, seed=seat) for seat in range(2)}
        env = RecordedEnv(ta.make(env_id))
        rewards, _ = play(env, agents, seed=3)
        assert set(rewards) == {0, 1}
        turn = agents[0].turns[0]
        assert turn.trace.completion.ids
        first = next(text for player, text in env.episode.actions if player == 0)
        assert first == (turn.text if turn.reading == "move" else "")
        assert len({id(agent.player) for agent in agents.values()}) == 1


def test_players_that_need_state_are_refused_at_the_first_turn() -> None:
    env = ta.make("TicTacToe-v0")
    env.reset(num_players=2, seed=0)
    _, observation = env.get_observation()
    for name in ("random", "mcts-10"):
        with pytest.raises(BadOption, match=f"{name} does not play TextArena's own games"):
            TextArenaAgent(name)(observation)
    with pytest.raises(WrongType, match="LLMObservationWrapper"):
        TextArenaAgent(TextPlayer())([(-1, "Hello", None)])  # type: ignore[arg-type]
    with pytest.raises(BadOption, match="is not a player"):
        TextArenaAgent(MovePicker(1))


def test_unparsable_replies_are_empty_actions() -> None:
    class Prose(TextPlayer):
        def act(self, asks: Any) -> Any:
            return [type(reply)(reply.text.replace("move", "mv")) for reply in super().act(asks)]

    agent = TextArenaAgent(Prose())
    assert agent("Say [a].") == ""
    assert agent.turns[0].reading == "unparsable"


def test_gymposium_players_get_full_state_in_gymposium_games() -> None:
    env = GymposiumEnv("tic_tac_toe", players={1: "exact"})
    rewards, _ = play(ta.wrappers.LLMObservationWrapper(env), {0: MovePicker(2)}, 2, num_players=2)
    assert rewards[1] >= 0.0
