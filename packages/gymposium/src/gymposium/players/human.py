"""A person at the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.games.protocol import Observation, Style
from gymposium.players.protocol import Ask, Reply
from gymposium.prompt import prompt_for
from gymposium.reading import READERS, Reader, read


class HumanPlayer:
    """Shows the prompt, reads a line. A line that is no legal move is asked for again, with the reason:
    a typing error is not a forfeit."""

    name = "human"
    reader: Reader = READERS["move"]
    style: Style = "full"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._ask(ask)) for ask in asks]

    def _ask(self, ask: Ask) -> str:
        observation = ask.observe("full")
        first = ask.turn == 0
        print()
        print(prompt_for(ask.game, "full", self.reader)(observation) if first else self._short(observation))
        while True:
            line = input(f"seat {ask.seat}> ").strip()
            reading = read(line, observation.legal_moves, self.reader, ask.game.move_pattern)
            if reading.kind == "move":
                return line
            print(reading.reason(observation.legal_moves))

    @staticmethod
    def _short(observation: Observation) -> str:
        moves = observation.legal_moves
        return observation.text + (f"Legal moves: {', '.join(moves)}" if moves is not None else "")
