"""Honest logs written by the original libraries. Each maker imports its library when called."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any


def openspiel_log(path: Path, games: list[str], each: int, seed: int) -> None:
    """Trajectories of random play, as pyspiel.Trajectory writes them."""
    import pyspiel

    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        for game in games:
            for number in range(each):
                state = pyspiel.load_game(game).new_initial_state()
                while not state.is_terminal():
                    _random_step(state, rng)
                data = json.loads(pyspiel.Trajectory(state).to_string())
                if state.num_players() == 2:
                    players = ["alice", "bob"] if number % 2 else ["bob", "alice"]
                    data["header"]["meta_data"] = json.dumps({"id": f"{game}-{number}", "players": players})
                file.write(json.dumps(data) + "\n")


def _random_step(state: Any, rng: random.Random) -> None:
    if state.is_chance_node():
        actions, weights = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(rng.choices(actions, weights)[0])
    elif state.is_simultaneous_node():
        state.apply_actions([rng.choice(state.legal_actions(seat) or [-1]) for seat in range(state.num_players())])
    else:
        state.apply_action(rng.choice(state.legal_actions()))


NONSENSE = ("I pass", "[99]", "hello b2", "[77 0]")


def textarena_log(path: Path, envs: list[str], each: int, seed: int, nonsense: float) -> None:
    """Episodes of TextArena's own environments between random agents, some of whose replies are no legal moves."""
    import textarena

    from gymposium_textarena import RecordedEnv

    rng = random.Random(seed)
    for env_id in envs:
        for number in range(each):
            env = RecordedEnv(textarena.make(env_id), path)
            env.reset(num_players=2, seed=number)
            done = False
            while not done:
                env.get_observation()
                legal = _textarena_moves(env_id, env)
                done, _ = env.step(
                    rng.choice(NONSENSE) if number % 2 and rng.random() < nonsense else rng.choice(legal)
                )
            env.close()


def _textarena_moves(env_id: str, env: Any) -> list[str]:
    while hasattr(env, "env"):
        env = env.env
    position = env.state.game_state
    if env_id.startswith("TicTacToe"):
        return [f"[{3 * r + c}]" for r in range(3) for c in range(3) if not position["board"][r][c]]
    if env_id.startswith("ConnectFour"):
        return [f"I drop it in [col {c}]" for c in range(7) if position["board"][0][c] == "."]
    if env_id.startswith("Nim"):
        return [f"[{pile} {n}]" for pile, size in enumerate(position["piles"]) for n in range(1, size + 1)]
    moves = env._valid_moves("W" if env.state.current_player_id else "B")  # Othello
    return [f"[{r}, {c}]" for r, c in moves] or ["I have no move"]


def kaggle_log(path: Path, episodes: list[tuple[str, Any, int]], seed: int, *, strict: bool = False) -> None:
    """Episodes of kaggle-environments. Each is an environment, what seat 1 gives at last instead of a move (None: it
    plays on), and the number of its moves before that."""
    from kaggle_environments import make

    rng = random.Random(seed)
    with open(path, "a", encoding="utf-8") as file:
        for number, (name, last, after) in enumerate(episodes):
            settings = {"seed": seed + number, "strictMode": strict} if name.startswith("open_spiel_") else {}
            env = make(name, configuration=settings)
            _play_kaggle(env, rng, last, after)
            data = env.toJSON()
            data["info"]["TeamNames"] = ["alice", "bob"]
            del data["specification"]  # long, and the same for all episodes
            file.write(json.dumps(data) + "\n")


def _play_kaggle(env: Any, rng: random.Random, last: Any, after: int) -> None:
    spiel = env.name.startswith("open_spiel_")
    env.reset()
    if spiel:
        env.step([{"submission": -1}] * len(env.state))
    moved = 0
    while not env.done:
        actions: list[Any] = []
        for seat, state in enumerate(env.state):
            if state.status != "ACTIVE":
                actions.append({"submission": -1} if spiel else 0)
            elif seat == 1 and last is not None and moved == after:
                actions.append(last)
            else:
                moved += seat == 1
                actions.append(_kaggle_move(env, seat, rng))
        env.step(actions)


def _kaggle_move(env: Any, seat: int, rng: random.Random) -> Any:
    if env.name == "connectx":
        board = env.state[0].observation.board
        return rng.choice([column for column in range(env.configuration.columns) if board[column] == 0])
    return {"submission": int(rng.choice(env.os_state.legal_actions(seat)))}


def inspect_log(folder: Path, game: str, matches: int, seed: int, *, log_format: str, nonsense: float = 0.1) -> Path:
    """The log of an evaluation of a model that moves at random, and sometimes does not."""
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from gymposium_inspect import match

    rng = random.Random(seed)

    def output(messages: Any, *_: Any) -> ModelOutput:
        line = next(line for line in messages[-1].text.split("\n") if line.startswith("Legal moves: "))
        legal = line.removeprefix("Legal moves: ").split(", ")
        text = rng.choice(["b2", "I give up"]) if rng.random() < nonsense else rng.choice(legal)
        made = ModelOutput.from_content("mockllm/model", text)
        made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it fetches an encoding
        return made

    (log,) = inspect_eval(
        match(game, opponent="random", matches=matches, seed=seed),
        model=get_model("mockllm/model", custom_outputs=output),
        log_dir=str(folder),
        log_format=log_format,
        max_samples=1,
        display="none",
    )
    assert log.status == "success"
    return Path(log.location)
