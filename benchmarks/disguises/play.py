"""Players against random play in plain and in disguised games."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.report import KeptRows, Row, table
from gymposium import load_game, make_player
from gymposium.games.protocol import Game, Style
from gymposium.match import play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, DistributionPlayer, Reply
from gymposium.records.scores import Estimate, Score, estimate_rate
from gymposium.replies.reading import READERS, Reader
from gymposium_agents.players.evaluate import find_seat, make_match_jobs

SEEDS = (1, 2, 3, 4)
"""The disguises, which share the matches."""
SEARCH, TRAINED = "mcts-100", "trained on the plain game"
WRITES, CHOOSES = "SmolLM2 as it comes", "SmolLM2, its likeliest legal move"
SEARCHED = ("tic_tac_toe", "connect_four", "hex(board_size=5)", "kuhn_poker", "leduc_poker")
READ = ("kuhn_poker", "tic_tac_toe", "connect_four")
"""Games of the language models."""
AS_IT_COMES = "prompt=full&reply=move&max_tokens=12"
CHOICES = "prompt=full&reply=move&temperature=1"
VERSIONS = ("gymposium", "gymposium-agents", "gymposium-train", "open_spiel", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class Cell:
    """A player and a game, in plain words and in disguise."""

    player: str
    """The player, as the table names it."""
    name: str
    """Specification of the player."""
    game: str
    matches: int


class Likeliest:
    """A language model that plays the legal move which it is likeliest to reply with."""

    reader: Reader = READERS["move"]
    style: Style = "full"

    def __init__(self, name: str) -> None:
        self.name = f"likeliest move of {name}"
        player = make_player(name)
        assert isinstance(player, DistributionPlayer), "language models know the probabilities of their moves"
        self._player = player

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        found = self._player.distributions(asks)
        return [Reply(max(zip(one.probabilities, one.moves, strict=True))[1]) for one in found]


def measured(cell: Cell, words: str) -> Row:
    """Play the matches of a cell against random play. A failed reply is replaced by a random move, and counted."""
    # the seeds of matches are the same for both, so that a player that reads no words plays the same matches
    games: list[Game] = [load_game(cell.game, disguise=seed * (words == "disguised")) for seed in SEEDS]
    player = Likeliest(cell.name) if cell.player == CHOOSES else make_player(cell.name)
    opponent = make_player("random")
    score = Score()
    clean = {"win": 0, "draw": 0, "loss": 0}
    for number, game in enumerate(games):
        jobs = make_match_jobs(
            player,
            opponent,
            game,
            cell.matches // len(games),
            seed=number,
            tag=str(number),
            on_illegal=FailurePolicy("random"),
        )
        for played in play(jobs, at_once=32):
            seat = find_seat(played.job.number or 0, game)
            score.add(played, seat)
            if all(turn.reading == "move" for turn in played.turns if turn.seat == seat):
                clean[played.result(seat)] += 1
    replies = sum(score.readings.values())
    return {
        "player": cell.player,
        "game": cell.game,
        "words": words,
        "matches": score.matches,
        "replies": replies,
        "failed": replies - score.readings["move"],
        "results": {kind: score.results.get(kind, 0) for kind in clean},
        "without_failure": clean,
        "return": [*map(float, (score.mean_return().value, score.mean_return().low, score.mean_return().high))],
        "prompt_tokens": score.prompt_tokens / replies if score.prompt_tokens else None,
    }


def train(game: str, budget: int, runs: Path) -> None:
    """Train a small model on the plain game with default settings, unless it exists."""
    run = runs / game
    if not (run / "results.json").is_file():
        runs.mkdir(parents=True, exist_ok=True)
        begun = ["--resume", run] if (run / "config.json").is_file() else []
        settings = ["--game", game, "--opponent", "random", f"budget={budget}", "--out", run]
        command = [Path(sys.executable).with_name("gymposium"), "train", *(begun or settings)]
        with (runs / f"{game}.log").open("a", encoding="utf-8") as log:
            done = subprocess.run(
                [*map(str, command)],
                env={**os.environ, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"},
                stdout=log,
                stderr=log,
                check=False,
            )
        if done.returncode not in (0, 3):  # 3: nothing was learned
            raise SystemExit(f"The training of {game} ended with {done.returncode}; see {log.name}.")


def text(rows: Sequence[Row]) -> str:
    """Return the table and what it says, as Markdown."""
    head = [
        "player, game, words",
        "matches",
        "wins",
        "draws",
        "mean return",
        "failed replies",
        "without a failed reply",
    ]
    lines = []
    for row in rows:
        clean, results, matches = row["without_failure"], row["results"], row["matches"]
        lines.append(
            [
                f"{row['player']}, {row['game']}, {row['words']}",
                f"{matches:,}",
                str(estimate_rate(results["win"], matches)),
                f"{results['draw'] / matches:.3f}",
                "{:+.3f} [{:+.3f}, {:+.3f}]".format(*row["return"]),
                str(estimate_rate(row["failed"], row["replies"])),
                f"{clean['win']} won, {clean['draw']} drawn, {clean['loss']} lost",
                "–" if row["prompt_tokens"] is None else f"{row['prompt_tokens']:.0f}",
            ]
        )
    return table([*head, "tokens a prompt"], lines) + "\n" + verdict(rows) + _NOTE


_NOTE = (
    f"\nOpponent: random play, from both seats. A failed reply is replaced by a random legal move, so that wins are "
    f"those of the legal replies and of these. The last but one column counts only matches in which every reply was a "
    f"legal move. Disguises {SEEDS[0]} to {SEEDS[-1]} share the matches, and plain matches have the same seeds.\n"
)


def verdict(rows: Sequence[Row]) -> str:
    """Describe where plain and disguised play differ."""
    found = {(row["player"], row["game"], row["words"]): row for row in rows}
    lines = []
    for (player, game, words), plain in found.items():
        other = found.get((player, game, "disguised"))
        if words == "plain" and other is not None:
            wins, shares = (
                [estimate_rate(count(row), row[of]) for row in (plain, other)]
                for count, of in ((_wins, "matches"), (_failed, "replies"))
            )
            lines.append(f"- {player}, {game}: {_apart(wins, 'wins')}, {_apart(shares, 'failed replies')}.")
    return "Plain against disguised:\n\n" + "\n".join(lines) + "\n"


def _wins(row: Row) -> int:
    return int(row["results"]["win"])


def _failed(row: Row) -> int:
    return int(row["failed"])


def _apart(two: Sequence[Estimate], what: str) -> str:
    plain, disguised = two
    if plain.low > disguised.high:
        return f"fewer {what} in disguise"
    return f"more {what} in disguise" if plain.high < disguised.low else f"{what} not apart"


def run_play(out: Path, model: Path | None, matches: int, model_matches: int, budget: int, runs: Path) -> None:
    """Play the rows without results, and write the results after each."""
    kept = KeptRows(out, "disguises-play", VERSIONS, text)
    torch.set_num_threads(1)
    cells = [Cell(SEARCH, SEARCH, game, matches) for game in SEARCHED]
    if model is not None:
        cells += [Cell(WRITES, f"lm:{model}?{AS_IT_COMES}", game, model_matches) for game in READ]
        cells += [Cell(CHOOSES, f"lm:{model}?{CHOICES}", game, model_matches) for game in READ]
    if budget:
        cells += [Cell(TRAINED, f"lm:{runs / game / 'model'}", game, matches) for game in READ]
    for cell in cells:
        for words in ("plain", "disguised"):
            if {"player": cell.player, "game": cell.game, "words": words} in kept:
                continue
            if cell.player == TRAINED:
                train(cell.game, budget, runs)
            kept.add(measured(cell, words))
    kept.show()
