"""The built-in plugin, which adds gymposium's own games, players, rewards and commands through the public hooks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gymposium.games import (
    cards,
    connection,
    dice,
    hidden_boards,
    lines,
    mixed_motive,
    pieces,
    poker,
    sowing,
    territory,
    tricks,
)
from gymposium.plugins.hookspecs import hookimpl
from gymposium.plugins.specs import CommandSpec, ExecutorSpec, GameSpec, OpponentSpec, RewardSpec


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    for folder in (
        lines,
        territory,
        sowing,
        connection,
        pieces,
        dice,
        poker,
        cards,
        tricks,
        hidden_boards,
        mixed_motive,
    ):
        family = folder.__name__.rpartition(".")[2].replace("_", " ")
        yield from (replace(spec, family=family) for spec in folder.GAMES)


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    yield OpponentSpec(
        name="random",
        form="random",
        pattern="random",
        summary="A legal move, uniformly at random.",
        entry_point="gymposium.players.random:RandomPlayer",
    )
    yield OpponentSpec(
        name="greedy",
        form="greedy",
        pattern="greedy",
        summary="The move with the highest immediate pay, or any move if none pays.",
        entry_point="gymposium.players.greedy:GreedyPlayer",
    )
    yield OpponentSpec(
        name="mcts",
        form="mcts-N",
        pattern=r"mcts-(?P<simulations>[1-9][0-9]{0,8})",  # the engine accepts no larger number
        summary="Monte Carlo tree search with N simulations a move; information-set search with hidden information.",
        entry_point="gymposium.players.mcts:MctsPlayer",
        placeholders="with N from 1 to 999999999",
        examples=("mcts-5",),
        offered=("mcts-25", "mcts-400"),
    )
    yield OpponentSpec(
        name="remote",
        form="remote:PLAYER?OPTIONS",
        pattern=r"remote:(?P<player>[^?]+)(?:\?(?P<options>.+))?",
        summary="Another player, asked in other processes or on a cluster: for search that takes long.",
        entry_point="gymposium.runs.executors.remote_player:make_remote",
        placeholders="with options executor=local or ray, workers=N and address=HOST:PORT",
        examples=("remote:mcts-5",),
        opens="processes",
    )
    yield OpponentSpec(
        name="openspiel-bot",
        form="openspiel-bot:NAME",
        pattern=r"openspiel-bot:(?P<bot>[a-z0-9_]+(?:\([A-Za-z0-9_=:,.-]*\))?)",
        summary="A bot that OpenSpiel registers, in OpenSpiel's games without hidden information.",
        entry_point="gymposium.players.openspiel_bot:make_named_bot",
        placeholders="with the NAME of one of pyspiel.registered_bots() and, in brackets, its parameters",
        examples=("openspiel-bot:uniform_random",),
    )
    yield OpponentSpec(
        name="exact",
        form="exact",
        pattern="exact",
        summary="Best play by minimax, in small games without hidden information and chance.",
        entry_point="gymposium.analysis.exact.players:ExactPlayer",
        games=("tic_tac_toe",),
    )
    yield OpponentSpec(
        name="cfr",
        form="cfr-N",
        pattern=r"cfr-(?P<iterations>[1-9][0-9]{0,5})",
        summary="An approximate equilibrium by N iterations of CFR+, in small games with hidden information.",
        entry_point="gymposium.analysis.exact.players:CfrPlayer",
        placeholders="with N from 1 to 999999",
        examples=("cfr-10",),
        games=("kuhn_poker", "leduc_poker"),
        offered=("cfr-200",),
    )
    yield OpponentSpec(
        name="exploit",
        form="exploit:FILE",
        pattern=r"exploit:(?P<path>[^#]+)(?:#(?P<digest>[0-9a-f]{4,64}))?",
        summary="The best response to one player, in one small game, as gymposium exploit writes it.",
        entry_point="gymposium.analysis.exact.adversary:open_adversary",
        opens="a file",
    )
    yield OpponentSpec(
        name="hold",
        form="hold-N",
        pattern=r"hold-(?P<total>[1-9][0-9]{0,3})",
        summary="Pig: rolls until the turn is worth N, then stops.",
        entry_point="gymposium.players.thumb:make_hold_player",
        placeholders="with N from 1 to 9999",
        examples=("hold-20",),
        games=("pig",),
        offered=("hold-20",),
    )
    yield OpponentSpec(
        name="match-prize",
        form="match-prize",
        pattern="match-prize",
        summary="Goofspiel: bids the value of the prize.",
        entry_point="gymposium.players.thumb:match_prize",
        games=("goofspiel",),
    )
    yield OpponentSpec(
        name="stand",
        form="stand-N",
        pattern=r"stand-(?P<total>[1-9][0-9]?)",
        summary="Blackjack: draws below N, then stands.",
        entry_point="gymposium.players.thumb:make_stand_player",
        placeholders="with N from 1 to 99",
        examples=("stand-17",),
        games=("blackjack",),
    )
    yield OpponentSpec(
        name="human",
        form="human",
        pattern="human",
        summary="A person at this terminal.",
        entry_point="gymposium.players.human:HumanPlayer",
        opens="the terminal",
    )


@hookimpl
def gymposium_rewards() -> Iterable[RewardSpec]:
    yield RewardSpec(
        name="returns",
        form="returns",
        pattern="returns",
        summary="The game's own returns, less penalties.",
        entry_point="gymposium.rewards.match:ReturnReward",
    )
    yield RewardSpec(
        name="score",
        form="score",
        pattern="score",
        summary="The match score from 0 to 1, less penalties; it has the same meaning in every game.",
        entry_point="gymposium.rewards.match:MatchScoreReward",
    )
    yield RewardSpec(
        name="clipped",
        form="clipped(MOST)",
        pattern=r"clipped(?:\((?P<most>.*)\))?",
        summary="The game's own returns, with the pay of each turn clipped to ±MOST; for credit by turn.",
        entry_point="gymposium.rewards.clipped:ClippedReturns",
        examples=("clipped(1)",),
    )
    yield RewardSpec(
        name="weighted",
        form="weighted(CRITERION=WEIGHT,...)",
        pattern=r"weighted(?:\((?P<weights>.*)\))?",
        summary="A weighted sum of criteria: accuracy, efficiency, completeness, your own MODULE:FUNCTION.",
        entry_point="gymposium.rewards.weighted:WeightedCriteria",
        opens="code of a module",
        opens_where=":",
        examples=("weighted(accuracy=1,efficiency=0.5,completeness=0.1)",),
    )


@hookimpl
def gymposium_executors() -> Iterable[ExecutorSpec]:
    yield ExecutorSpec(
        name="local", summary="Processes of this machine.", entry_point="gymposium.runs.executors.local:make_local"
    )


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    for order, (name, module, summary) in enumerate(
        (
            ("list", "list", "List the games, players, rewards, loggers and engines."),
            ("info", "info", "Show a game's rules, parameters and an example turn."),
            ("play", "play", "Play a game in the terminal."),
            ("run", "run", "Play many matches between players and print the score."),
            ("replay", "replay", "Show recorded matches move by move."),
            ("verify", "verify", "Replay recorded matches and report differences."),
            ("review", "review", "Show the cost of each move in recorded matches."),
            ("exploit", "exploit", "Show how much a perfect adversary gains against a player."),
            ("export", "export", "Export matches and training data in the formats of other tools."),
            ("serve-env", "serve_env", "Serve games as environments over a network."),
            ("plugins", "plugins", "List, check and write plugins."),
        )
    ):
        yield CommandSpec(name=name, summary=summary, entry_point=f"gymposium.cli.{module}:command", order=order)
