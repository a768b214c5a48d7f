"""TextArena's games with the wrappers that `textarena.make` puts around them.

The legal moves are looked up in the game's own state, since not every game lists them. Its observation wrapper keeps
what was said through `reset`; it is emptied here, as if a new one had been made.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import textarena

from benchmarks.throughput.workers.serving import MatchToReplay, Table, serve

Legal = Callable[[Any], list[str]]
"""The legal moves, from the game's environment without its wrappers."""


@dataclass(frozen=True)
class Game:
    """One game of TextArena's."""

    id: str
    legal: Legal
    players: int = 2
    chance: bool = False
    note: str = ""


def _bare(env: Any) -> Any:
    while isinstance(env, textarena.core.Wrapper):
        env = env.env
    return env


def tic_tac_toe(env: Any) -> list[str]:
    board = [cell for row in env.state.game_state["board"] for cell in row]
    return [f"[{cell}]" for cell in range(9) if not board[cell]]


def connect_four(env: Any) -> list[str]:
    return [f"[col {column}]" for column in range(env.num_cols) if env.state.game_state["board"][0][column] == "."]


def othello(env: Any) -> list[str]:
    moves = env._valid_moves("BW"[env.state.current_player_id])
    return [f"[{row}, {column}]" for row, column in moves] or ["[pass]"]


def breakthrough(env: Any) -> list[str]:
    seat, cells = env.state.current_player_id, range(env.board_size)
    step = (1, -1)[seat]
    return [
        f"[{'abcdefgh'[c]}{r + 1}{'abcdefgh'[d]}{r + step + 1}]"
        for r in cells
        for c in cells
        for d in (c - 1, c, c + 1)
        if env._is_on_board(r + step, d) and env._is_valid_move(seat, r, c, r + step, d)
    ]


def twenty_forty_eight(env: Any) -> list[str]:
    legal, state = [], env.state.game_state
    for direction, name in enumerate(("[Up]", "[Down]", "[Left]", "[Right]")):
        board = copy.deepcopy(state["board"])
        if env._apply_move(direction)[0]:
            legal.append(name)
        state["board"] = board
    return legal


def kuhn_poker(env: Any) -> list[str]:
    return [f"[{move}]" for move in env.state.game_state["current_legal_action_tree"]]


def liars_dice(env: Any) -> list[str]:
    bid, most = env.state.game_state["current_bid"], sum(env.state.game_state["remaining_dice"].values())
    quantity, face = bid["quantity"], bid["face_value"]
    higher = [
        f"[Bid: {q}, {f}]"
        for q in range(max(quantity, 1), most + 1)
        for f in range(max(face, 1), 7)
        if (q, f) != (quantity, face)
    ]
    return higher + ["[Call]"] * (quantity > 0)


def goofspiel(env: Any) -> list[str]:
    state = env.state
    return [f"[{env._val_to_face(card)}]" for card in state.game_state["player_hands"][state.current_player_id]]


def blackjack(env: Any) -> list[str]:
    return ["[Hit]", "[Stand]"]


GAMES = {
    "tic_tac_toe": Game("TicTacToe-v0", tic_tac_toe),
    "connect_four": Game("ConnectFour-v0", connect_four),
    "othello": Game("Othello-v0", othello),
    "2048": Game("2048-v0", twenty_forty_eight, players=1, chance=True),
    "breakthrough": Game("Breakthrough-v0", breakthrough, note="no quiet diagonal steps, so a player can be stuck"),
    "goofspiel": Game("GameOfPureStrategy-v0", goofspiel, chance=True, note="bids are shown and ties carry over"),
    "kuhn_poker": Game("KuhnPoker-v0", kuhn_poker, chance=True, note="three hands"),
    "liars_dice": Game("LiarsDice-v0", liars_dice, chance=True, note="five dice each, lost one by one, none wild"),
    "blackjack": Game("Blackjack-v0", blackjack, players=1, chance=True, note="five hands, cards put back"),
}


def table(game: Game) -> Table:
    env = textarena.make(game.id)
    bare, wrapper = _bare(env), env
    while not hasattr(wrapper, "full_observations") or "full_observations" not in vars(wrapper):
        wrapper = wrapper.env

    def begin(seed: int) -> None:
        wrapper.full_observations = {}
        env.reset(num_players=game.players, seed=seed if game.chance else None)

    def keep(seed: int, rng: random.Random) -> MatchToReplay | None:
        begin(seed)
        actions, done = [], False
        while not done:
            env.get_observation()
            legal = game.legal(bare)
            if not legal:
                return None
            actions.append(rng.choice(legal))
            done, _ = env.step(action=actions[-1])
        return MatchToReplay(seed, actions)

    def play(kept: MatchToReplay) -> None:
        begin(kept.seed)
        done = False
        for action in kept.actions:
            env.get_observation()
            done, _ = env.step(action=action)
        if not done:
            raise RuntimeError("A match that was kept goes on where it had ended: it does not follow its seed.")
        env.close()

    return Table(keep, play, game.note)


if __name__ == "__main__":
    serve({name: partial(table, game) for name, game in GAMES.items()}, ["textarena"])
