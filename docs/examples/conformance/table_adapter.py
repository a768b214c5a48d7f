"""The adapter for a trainer without tokens: a table of mean returns that occasionally explores other moves."""

import random
from collections import defaultdict

from gymposium.players.protocol import Ask
from gymposium_testing.trainers import MovePolicy, TrainerTask, TrainingBudget


class TableTrainer:
    """Level (a) of the kit."""

    self_play = False

    def train(self, task: TrainerTask, budget: TrainingBudget) -> MovePolicy:
        rng = random.Random(budget.seed)
        returns: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])

        def best(view: str, moves: list[str]) -> str:
            return max(moves, key=lambda move: returns[view, move][0] / max(1.0, returns[view, move][1]))

        for number in range(budget.matches):
            match, seat, taken = task.game.new(number), number % 2, []
            while seats := match.to_move():
                moves = {one: rng.choice(match.legal_moves(one) or []) for one in seats}
                if seat in seats:
                    if rng.random() > 0.2:
                        moves[seat] = best(match.view(seat), match.legal_moves(seat) or [])
                    taken.append((match.view(seat), moves[seat]))
                match.apply(moves)
            for key in taken:
                returns[key][0] += match.returns()[seat]
                returns[key][1] += 1.0

        def policy(ask: Ask) -> list[float]:
            moves = ask.legal_moves or []
            return [float(move == best(ask.view, moves)) for move in moves]

        return policy
