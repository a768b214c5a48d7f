"""The exact figures, from a traversal of the game tree, that `gymposium exploit` and `gymposium eval --exact` show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from gymposium.analysis.exact import Outcome, PlayerFigures, Policy, PolicyFigures, TooLarge, measure_player
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player
from gymposium.util.visible import quantity


@dataclass(frozen=True, slots=True)
class ExactFigures:
    """A player's exact figures per game, or the reason why they are missing."""

    player: str
    """The player's name, without options."""
    figures: Mapping[Game, PlayerFigures | TooLarge]

    @classmethod
    def compute(cls, games: Sequence[Game], player: Player, seed: int) -> ExactFigures:
        """Compute the figures in each sufficiently small game.

        Raises `GymposiumError` if the player cannot report its move probabilities."""
        return cls(player.name.partition("?")[0], {game: _try_measure(game, player, seed) for game in games})

    def as_data(self, game: Game) -> dict[str, Any]:
        """Return a game's figures as plain data. If they are missing, the key `refused` has the reason."""
        measured = self.figures[game]
        return {"refused": str(measured)} if isinstance(measured, TooLarge) else measured.as_dict()

    def show(self, console: Console) -> None:
        """Print the figures as tables that fit 80 columns."""
        for measured in self.figures.values():
            console.print()
            if isinstance(measured, TooLarge):
                console.print(f"{self.player} has no exact figures: {measured}", soft_wrap=True)
            else:
                show_figures(console, self.player, measured)


def show_figures(console: Console, player: str, measured: PlayerFigures) -> None:
    """Print a player's figures in one game."""
    policy = measured.as_played.policy
    console.print(f"{player} at {policy.game.name}, by traversal", soft_wrap=True)
    console.print(_describe_exactness(policy))
    for title, figures in _list_kinds(measured):
        console.print()
        console.print(_make_table(title, figures))
        if figures.exploitability is not None:
            console.print(f"exploitability {figures.exploitability:.4f}")


def _try_measure(game: Game, player: Player, seed: int) -> PlayerFigures | TooLarge:
    try:
        return measure_player(game, player, seed)
    except TooLarge as reason:
        return reason


def _describe_exactness(policy: Policy) -> str:
    if policy.estimated:
        return f"{quantity(len(policy.table), 'state')}, each estimated from sampled replies: not exact"
    exact = "exact" if policy.exact else "the rest counts as forfeits"
    return f"{quantity(len(policy.table), 'state')}, legal mass {policy.legal_mass:.6g} or more: {exact}"


def _list_kinds(measured: PlayerFigures) -> Iterator[tuple[str, PolicyFigures]]:
    yield "illegal forfeits", measured.as_played
    if measured.restricted is not None and measured.as_played.policy.legal_mass < 1.0:
        yield "legal moves alone", measured.restricted


def _make_table(title: str, figures: PolicyFigures) -> Table:
    headings = (Column(name, justify="right") for name in ("win", "draw", "loss", "mean return"))
    table = Table(Column(title, min_width=24), *headings, box=None, padding=(0, 2, 0, 0), pad_edge=False)
    _add_row(table, "against random", figures.against_random.mean)
    for seat, outcome in enumerate(figures.against_random.seats):
        _add_row(table, f"  seat {seat}", outcome)
    if figures.response is not None:
        for seat, outcome in enumerate(figures.response.value.seats):
            _add_row(table, f"best response in seat {seat}", outcome)
    return table


def _add_row(table: Table, name: str, outcome: Outcome) -> None:
    table.add_row(name, *(f"{x:.4f}" for x in (outcome.win, outcome.draw, outcome.loss, outcome.mean_return)))
