"""Board verification: which matches follow from the suite, the entries and their seeds, and which are attested.

The driver replays every match with the recorded replies in place of the players, and finds everything that does not
follow from the replies. In addition, players whose replies follow from their seeds are asked again, and their new
replies are compared with the recorded ones.
"""

from gymposium_arena.verify.board import verify_board
from gymposium_arena.verify.findings import About, BoardVerification, Finding, PlayerVerified, ResultsState

__all__ = ["About", "BoardVerification", "Finding", "PlayerVerified", "ResultsState", "verify_board"]
