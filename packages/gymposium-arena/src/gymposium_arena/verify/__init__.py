"""Verify boards: check that matches follow from the suite, the entries and their seeds, or are attested.

The driver replays every match with recorded replies and reports every difference. Players whose replies follow from
their seeds are rerun, and their new replies are compared with the recorded ones.
"""

from gymposium_arena.verify.board import verify_board
from gymposium_arena.verify.findings import About, BoardVerification, Finding, PlayerVerification, ResultsState

__all__ = ["About", "BoardVerification", "Finding", "PlayerVerification", "ResultsState", "verify_board"]
